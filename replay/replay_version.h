
/*
 * The version is that of the module, and stands in its header alone: the build
 * hands it on.
 */


#ifndef _REPLAY_VERSION_H_INCLUDED_
#define _REPLAY_VERSION_H_INCLUDED_


#ifndef REPLAY_VERSION
#error "compile with -DREPLAY_VERSION, as tools/replay.mk does"
#endif


#endif /* _REPLAY_VERSION_H_INCLUDED_ */
