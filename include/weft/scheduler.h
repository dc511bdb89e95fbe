/*
 * For libraries of user-level threads: a blocking call of Weft then suspends the user-level thread
 * that makes it, and not the thread of the operating system, which runs the others. weft/fiber.hpp
 * is such a library; programs do not need this header.
 */
#ifndef WEFT_SCHEDULER_H
#define WEFT_SCHEDULER_H

#include "weft/export.h"
#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The functions of a scheduler, which runs user-level threads in one thread of the operating
 * system. All are called in that thread, with `state`.
 */
typedef struct weft_scheduler {
    /**
     * The user-level thread that runs, as resume() is to name it; null: none does, and calls block.
     */
    void* (*current)(void* state);
    /** Let others run; return when resume() was called for this one, and its turn has come. */
    void (*suspend)(void* state);
    /**
     * This one may go on. Called inside of weft_scheduler_poll and weft_scheduler_sleep: do not
     * switch, and do not call Weft.
     */
    void (*resume)(void* state, void* thread);
    /** A test in this one has found nothing: let others run, if any can. */
    void (*yield)(void* state);
    /**
     * Make a user-level thread that calls function(argument), and let it run as one that was
     * resumed. Called like resume(). Not 0: done. 0: there is no memory for it. May be null:
     * functions of a program's own schedules then run in the thread that advances operations, and
     * must not call Weft.
     */
    int (*spawn)(void* state, void (*function)(void* argument), void* argument);
    void* state;
} weft_scheduler;

/**
 * From now on the calling thread runs user-level threads. Until weft_scheduler_detach it cannot be
 * cancelled (pthread_cancel).
 *
 * Lent      `scheduler`, until weft_scheduler_detach.
 * Calling   any thread, also before weft_init. Each thread may have a scheduler of its own.
 * Returns   WEFT_OK. WEFT_REFUSED_STATE: it has one; WEFT_REFUSED_ARGUMENT: a null pointer or
 *           function.
 */
WEFT_API weft_status weft_scheduler_attach(const weft_scheduler* scheduler);

/**
 * The calling thread runs no user-level threads any more. Those that spawn() has made have ended.
 *
 * Returns   WEFT_OK. WEFT_REFUSED_STATE: it has no scheduler, or some of its threads wait inside
 *           Weft.
 */
WEFT_API weft_status weft_scheduler_detach(void);

/**
 * Look whether waits of suspended threads have ended, and call resume() for those. Advances pending
 * operations. To be called whenever the scheduler switches: looks only if the last look is long
 * enough ago that looks take a small share of the time.
 *
 * Calling   the scheduler's thread. Does not block.
 * Returns   WEFT_OK: some were resumed. WEFT_PENDING: none. WEFT_REFUSED_STATE: the thread has no
 *           scheduler, or is inside a function that Weft calls, where it must not switch.
 */
WEFT_API weft_status weft_scheduler_poll(void);

/**
 * The same, but looks in any case: for a scheduler that knows of an arrival, or that has not looked
 * for long.
 *
 * Calling   as weft_scheduler_poll. Also in a signal handler, if the interrupted code is not inside
 *           of Weft, or the memory allocator, or anything else that calls of Weft may need.
 * Returns   as weft_scheduler_poll.
 */
WEFT_API weft_status weft_scheduler_look(void);

/**
 * From now on, messages of other ranks send `signal` to the calling thread of the operating
 * system; 0: no more. (Sockets with O_ASYNC, F_SETSIG and F_OWNER_TID.) It means that
 * weft_scheduler_look may find something.
 *
 * Calling   a thread with a scheduler, one in a process. Does not block.
 * Returns   WEFT_OK. WEFT_REFUSED_STATE: the thread has no scheduler, another one gets the signal,
 *           or Weft is not initialized. WEFT_REFUSED_UNSUPPORTED: some rank is reached by a
 *           transport that cannot; only `tcp` can.
 */
WEFT_API weft_status weft_scheduler_signal(int signal);

/**
 * Wait until the wait of a suspended thread has ended, and call resume(). Spins briefly, then
 * sleeps, as weft_wait.
 *
 * Calling   the scheduler's thread, while no user-level thread runs (current() is null).
 * Returns   WEFT_OK: at least one was resumed. WEFT_REFUSED_STATE: none waits, or as
 *           weft_scheduler_poll.
 */
WEFT_API weft_status weft_scheduler_sleep(void);

#ifdef __cplusplus
}
#endif

#endif
