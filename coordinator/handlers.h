/* Handlers of routes.def, each in the file of its subject (route_*.c). */
#ifndef WF_COORDINATOR_HANDLERS_H
#define WF_COORDINATOR_HANDLERS_H

#include "coordinator/api.h"

#define ROUTE(name, method, path, who, body, query, handler)            \
    enum wf_status handler(struct wf_worker *w, struct wf_request *req, \
                           struct wf_error *err);
#include "coordinator/routes.def"
#undef ROUTE

#endif
