/* Checks of a request and an address that need nothing of the HTTP library. */
#ifndef WF_COORDINATOR_HTTP_CHECK_H
#define WF_COORDINATOR_HTTP_CHECK_H

#include "coordinator/api.h"

#include <sys/socket.h>

/* Each parameter is known to the route and there once; else false, and the problem is
 * filled in. */
bool wf_http_query_known(struct wf_request *req);
/* From the Authorization header's value (NULL: none). */
void wf_http_take_token(struct wf_request *req, const char *value);
uint64_t wf_http_body_limit(enum wf_body_kind kind, const struct wf_config *config);
/* Numeric IPv4 or IPv6 only. */
enum wf_status wf_http_address(const char *host,
                               int port,
                               struct sockaddr_storage *ret,
                               struct wf_error *err);

#endif
