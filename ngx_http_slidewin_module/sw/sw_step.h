
/*
 * A process may be killed while it changes shared memory.  A step is a point of
 * such a change: all writes before it are done, and none of those after it.  A
 * signal falls between two instructions, and the next process takes the lock,
 * so that only the compiler must keep the order.
 */


#ifndef _SW_STEP_H_INCLUDED_
#define _SW_STEP_H_INCLUDED_


#include <stdatomic.h>
#include <stddef.h>


#if (SW_STEPS)

/* for tests: what happens at each step */
extern void  (*sw_stepped)(void);

#define sw_step()                                                             \
    do {                                                                      \
        atomic_signal_fence(memory_order_seq_cst);                            \
                                                                              \
        if (sw_stepped) {                                                     \
            sw_stepped();                                                     \
        }                                                                     \
                                                                              \
        atomic_signal_fence(memory_order_seq_cst);                            \
    } while (0)

#else

#define sw_step()  atomic_signal_fence(memory_order_seq_cst)

#endif


#endif /* _SW_STEP_H_INCLUDED_ */
