// Package certificate has the certificates that the admission server shows and
// the authority that the API server believes: from files that somebody else
// writes, or made here and kept in a Secret, so that all replicas share them.
//
// Own certificates are renewed without a moment in which the API server does not
// believe them: a new authority is published beside the old one first, and signs
// only after a while. Ready-made rotators replace both at once; between the new
// certificate and the new configuration every admission fails. A Secret that is lost
// is such a case, too. What is to serve and to be trusted is judged by the API
// server's clock; a clock that is behind is no reason to make anything anew.
package certificate
