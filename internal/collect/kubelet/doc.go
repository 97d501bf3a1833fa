// Package kubelet asks the kubelets for /metrics/resource, one node at a time.
// Below it, package text reads the answers, package rate keeps them, and package
// scrape says when to scrape which node.
//
// A [Client] speaks HTTP/1.1 over TLS to each node and keeps the connection
// alive. HTTP/2 is left out on purpose: with one request at a time there is
// nothing to share, and a connection that died silently would outlive the
// requests that fail on it. The kubelet's certificate is verified; the file of the
// CA is read every minute, and when a certificate is not of the CA. A
// client certificate or a token authenticates Plimsoll, a token of an account that is
// there for this alone as a rule: never what authenticates it to the API server, as
// each kubelet could use that. Redirects are not followed, so that it goes nowhere
// else. The right that it takes is get on nodes/metrics, and no other.
//
// Errors name the node and the address that was asked. They repeat nothing of
// what the other side wrote, which may be anything, the token included.
package kubelet
