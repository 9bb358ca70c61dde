/* Verifies the client's certificate of a TLS session. */
#include "coordinator/tls_peer.h"

#include <gnutls/gnutls.h>

bool wf_tls_peer_verified(void *gnutls_session)
{
    unsigned problems = ~0u;
    if (!gnutls_session) {
        return false;
    }
    return gnutls_certificate_verify_peers2(gnutls_session, &problems) ==
               GNUTLS_E_SUCCESS &&
           problems == 0;
}
