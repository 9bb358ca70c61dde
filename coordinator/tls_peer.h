/* Client certificates (tls_peer.c is the only file that includes gnutls.h). */
#ifndef WF_COORDINATOR_TLS_PEER_H
#define WF_COORDINATOR_TLS_PEER_H

#include <stdbool.h>

/* The peer of this GnuTLS session showed a certificate that the trusted authority
 * signed. The TLS library asks for one but does not insist: this must be asked for
 * every request. */
bool wf_tls_peer_verified(void *gnutls_session);

#endif
