// Package certificate has the certificates that the admission server shows and the
// authority that the API server trusts: from files that another program writes, or
// created here and stored in a Secret, so that all replicas share them.
//
// Own certificates are renewed without a gap in the API server's trust: a new
// authority is first published beside the old one, and signs only after a while.
// Common rotators replace both at once; until the new configuration follows the new
// certificate, every admission fails. A Secret that is lost is such a case too.
// What to serve and what to trust is decided by the API server's clock; a clock
// that is behind is no reason to create anything again.
package certificate
