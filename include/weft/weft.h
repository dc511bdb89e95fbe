/*
 * Weft: nonblocking collective operations that run in the background. Includes everything but
 * mpi.h.
 */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include "weft/call.h"
#include "weft/collective.h"
#include "weft/comm.h"
#include "weft/completion.h"
#include "weft/message.h"
#include "weft/oob.h"
#include "weft/request.h"
#include "weft/schedule.h"
#include "weft/scheduler.h"
#include "weft/status.h"
#include "weft/types.h"

#endif
