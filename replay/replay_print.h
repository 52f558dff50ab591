
/*
 * Texts of a log for people and programs: keys and paths may have any bytes.
 */


#ifndef _REPLAY_PRINT_H_INCLUDED_
#define _REPLAY_PRINT_H_INCLUDED_


#include <stdio.h>

#include "replay.h"


/* the inside of a JSON string; nothing in it reaches a terminal or HTML */
void replay_print_json_text(FILE *file, replay_text_t text);

/* for a terminal: what is not printable is \xHH */
void replay_print_plain(FILE *file, replay_text_t text);

/* a JSON text with quotes, or null without data */
void replay_print_json_string(FILE *file, replay_text_t text);


#endif /* _REPLAY_PRINT_H_INCLUDED_ */
