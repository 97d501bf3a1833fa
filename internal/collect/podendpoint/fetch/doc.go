// Package fetch requests a page over HTTP/1.1 from a pod that may be hostile, over a connection that is kept for the
// next request.
//
// The head and the body of a response are read by net/http's own functions, except for the common plain head. The
// connections are not net/http's: a [http.Transport] keeps two goroutines and two buffers for each, and wakes two
// goroutines for each response. Here a connection that waits for its next request is a socket and nothing else.
//
// It is kept on purpose. BenchmarkRequests of package podendpoint compares the two, beside other work: a request over
// 10,000 connections takes 17 µs of CPU here and 60 to 72 µs with net/http, over 1,000 connections 20 to 26 µs and 55
// to 66 µs, and a connection 0.3 to 0.5 kB of memory and 13 kB (docs/contributing/performance.md). For 10,000 pods that
// are scraped every second, that is four tenths of a core and 130 MB; for 1,000, where net/http would do, a
// twenty-fifth of a core and 13 MB. Besides, the bounds on the cost of a hostile pod's response, in pieces and in time,
// are here and not in a [http.Transport].
//
// There are no redirects, proxies, cookies or compression: a response that is compressed nevertheless is refused, so
// that nothing can grow while it is read. Head, body and time are bounded. Errors do not quote the response.
package fetch
