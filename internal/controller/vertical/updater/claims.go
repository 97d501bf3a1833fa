package updater

import (
	"sync"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// quotaClaims has the shares of quotas that the changes of a pass use, by namespace. Workers share it: a quota's status
// counts a new pod only once the API server has seen it, and two workloads must not use the same remainder until then.
type quotaClaims struct {
	mu sync.Mutex
	by map[string]*resize.Claims // guarded by mu
}

// begin drops the claims of the last pass: the quotas' statuses include them by now.
func (q *quotaClaims) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.by = nil
}

func (q *quotaClaims) of(namespace string) *namespaceClaims {
	q.mu.Lock()
	defer q.mu.Unlock()
	claims := q.by[namespace]
	if claims == nil {
		if q.by == nil {
			q.by = map[string]*resize.Claims{}
		}
		claims = &resize.Claims{}
		q.by[namespace] = claims
	}
	return &namespaceClaims{mu: &q.mu, claims: claims}
}

// namespaceClaims adds a lock to the core's claims.
type namespaceClaims struct {
	mu     *sync.Mutex
	claims *resize.Claims // guarded by mu
}

var _ update.Claims = (*namespaceClaims)(nil)

// Take implements update.Claims.
func (n *namespaceClaims) Take(growth vertical.Resized, quotas []resize.Quota) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.claims.Take(growth, quotas)
}

// Release implements update.Claims.
func (n *namespaceClaims) Release(growth vertical.Resized) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.claims.Release(growth)
}
