/* The HTTP server over libmicrohttpd (http_server.c is the only file that includes
 * microhttpd.h). It reads requests, asks workers to handle them, and sends replies. */
#ifndef WF_COORDINATOR_HTTP_SERVER_H
#define WF_COORDINATOR_HTTP_SERVER_H

#include "coordinator/api.h"

struct wf_server; /* opaque: one listener */

struct wf_server_options {
    struct wf_app *app;
    const char *host;  /* numeric */
    int port;          /* 0: any free one */
    bool metrics_only; /* only /metrics and /healthz */
    bool hide_metrics; /* they have a listener of their own */
    const char *tls_cert, *tls_key, *tls_client_ca; /* PEM texts, NULL: none */
};

enum wf_status wf_server_start(const struct wf_server_options *o,
                               struct wf_server **ret,
                               struct wf_error *err);
int wf_server_port(const struct wf_server *s);
/* No new connections; those that are there go on. */
void wf_server_quiesce(struct wf_server *s);
/* Waits until no request is with a worker or waits in the park, and (a few seconds at
 * most) until their replies have been sent. NULL is good. */
void wf_server_idle(struct wf_server *s);
/* When no request is with a worker any more. NULL is good. */
void wf_server_destroy(struct wf_server *s);
/* Sends the reply of a request. Any thread; the request must not be touched after. */
void wf_server_complete(struct wf_request *req);

#endif
