// Package fetch requests a page over HTTP/1.1 from a pod that may be hostile, over a connection
// that is kept for the next request.
//
// The head and the body of a response are read by net/http's own functions, unless the head is as
// almost all are. The connections are not: a [http.Transport] keeps two goroutines and two buffers
// for each, and wakes two goroutines for each response (docs/contributing/performance.md). Here a connection that
// waits for its next request is a socket and nothing else.
//
// There are no redirects, proxies, cookies or compression: a response that is compressed
// nevertheless is refused, so that nothing can grow while it is read. Head, body and time are
// bounded. Errors do not quote the response.
package fetch
