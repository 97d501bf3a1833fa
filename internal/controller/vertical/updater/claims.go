package updater

import (
	"sync"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// quotaClaims are what the changes of a pass take of quotas, by namespace; several
// workers share it.
type quotaClaims struct {
	mu sync.Mutex
	of map[string]*resize.Claims // guarded by mu
}

// begin forgets what the pass before took: by now quotas say it themselves.
func (q *quotaClaims) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.of = map[string]*resize.Claims{}
}

func (q *quotaClaims) take(t *task, a update.Action) (growth vertical.Resized, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	claims := q.of[t.vpa.Namespace]
	if claims == nil {
		claims = &resize.Claims{}
		q.of[t.vpa.Namespace] = claims
	}
	return t.decision.Claim(a, claims)
}

// release returns what a change that was not done has claimed.
func (q *quotaClaims) release(namespace string, growth vertical.Resized) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.of[namespace].Release(growth)
}
