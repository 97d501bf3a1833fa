// Package kubelet requests /metrics/resource from the kubelets, one node at a time. Below it, package text parses the
// responses, package rate keeps the samples, and package scrape schedules the scrapes.
//
// A [Client] uses HTTP/1.1 over TLS to each node and keeps the connection alive. HTTP/2 is left out on purpose: with
// one request at a time there is nothing to share, and a connection that died silently would outlive the requests that
// fail on it. The kubelet's certificate is verified; the file of the CA is read every minute, and when a certificate is
// not of the CA. A client certificate or a token authenticates Plimsoll, usually a token of a service account for this
// purpose alone: never the credentials for the API server, as each kubelet could use those. Redirects are not followed,
// so that it connects to no other server. The only permission that it needs is get on nodes/metrics.
//
// Errors name the node and its address. They repeat nothing of the response, which may be anything, the token included.
package kubelet
