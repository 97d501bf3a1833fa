// Package migrate tests plimsoll migrate on a real API server. The test itself writes
// the status that Plimsoll's controller would write.
package migrate
