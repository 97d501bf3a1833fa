// Package certificate provides the certificates that the admission server shows and the authority that the API server
// trusts: from files that another program writes, or created here and stored in a Secret, so that all replicas share
// them.
//
// Own certificates are renewed without a gap in the API server's trust: a new authority is first published beside the
// old one, and signs only after a while. Common rotators replace both at once; until the new configuration follows the
// new certificate, every admission fails. The same happens when a Secret is lost. The API server's clock decides which
// certificate to serve and which authority to trust; a clock that is behind is no reason to create anything again.
package certificate
