
#include "sw_step.h"


#if (SW_STEPS)

void  (*sw_stepped)(void);

#endif
