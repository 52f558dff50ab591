
#ifndef _MEMORY_H_INCLUDED_
#define _MEMORY_H_INCLUDED_


#include <stdlib.h>


static inline void *
memory_get(size_t size)
{
    void  *p;

    p = size ? malloc(size) : NULL;

    if (p == NULL) {
        abort();
    }

    return p;
}


#endif /* _MEMORY_H_INCLUDED_ */
