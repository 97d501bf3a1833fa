// Package token requests a token of a service account, which the API server issues for a short time, and renews it
// before it expires.
//
// It is for peers that must not receive Plimsoll's own token: a kubelet can use a token that it receives, and so can an
// attacker on its node.
package token

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	// lifetime is the requested lifetime; the API server may grant another.
	lifetime = time.Hour
	// timeout bounds one request for a token.
	timeout = 10 * time.Second
	// retry is the pause after a failure, with up to half of it added: replicas do not make requests together.
	retry = 10 * time.Second
	// refusedAfter is the minimum age at which a refused token is renewed: a peer that refuses everything must not cause
	// many requests.
	refusedAfter = time.Minute
)

// Accounts issues tokens; the ServiceAccounts client of a namespace implements it.
type Accounts interface {
	CreateToken(ctx context.Context, name string, request *authenticationv1.TokenRequest, options metav1.CreateOptions) (
		*authenticationv1.TokenRequest, error)
}

// Source has the token of one service account. It is safe for concurrent use.
type Source struct {
	accounts        Accounts
	namespace, name string

	// mu guards the following.
	mu sync.Mutex
	// token may be shown until expires.
	token           string
	issued, expires time.Time
	// due is the time of the next request.
	due time.Time
	// err is the error of the last request, or nil.
	err error
	// requesting is closed at the end of the running request; nil without one.
	requesting chan struct{}
}

// New makes a Source. It makes no request before the first Token.
func New(accounts Accounts, namespace, name string) (*Source, error) {
	if accounts == nil || namespace == "" || name == "" {
		return nil, errors.New("token: a client and a service account with its namespace are needed")
	}
	return &Source{accounts: accounts, namespace: namespace, name: name}, nil
}

// Token returns a valid token. It waits for the API server only if there is none, and not after ctx ends.
func (s *Source) Token(ctx context.Context) (string, error) {
	s.mu.Lock()
	if s.requesting == nil && !time.Now().Before(s.due) {
		s.requesting = make(chan struct{})
		go s.request(s.requesting)
	}
	token, err, requesting := s.validLocked(), s.err, s.requesting
	s.mu.Unlock()
	switch {
	case token != "":
		return token, nil
	case requesting == nil:
		return "", err
	}
	select {
	case <-requesting:
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for a token of service account %s: %w", s.account(), ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.validLocked(), s.err
}

// Refused records that a peer rejected the token. It is renewed unless it is new: the account may have been deleted and
// created again. After a failed request, a refusal does not bring the next one forward.
func (s *Source) Refused(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.err == nil && token == s.token && now.Sub(s.issued) >= refusedAfter {
		s.due = now
	}
}

func (s *Source) account() string { return s.namespace + "/" + s.name }

func (s *Source) validLocked() string {
	if time.Now().Before(s.expires) {
		return s.token
	}
	return ""
}

// request requests a token. The last one stays until it expires.
func (s *Source) request(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	answer, err := s.accounts.CreateToken(ctx, s.name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(lifetime.Seconds()))},
	}, metav1.CreateOptions{})
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(done)
	s.requesting = nil
	now := time.Now()
	var life time.Duration
	if err == nil {
		life, err = lifeOf(answer, now)
	}
	if err != nil {
		s.err = fmt.Errorf("a token of service account %s: %w", s.account(), err)
		s.due = now.Add(spread(retry, retry/2))
		return
	}
	s.token, s.issued, s.expires, s.err = answer.Status.Token, now, now.Add(life), nil
	// A quarter of its lifetime is left for failures.
	s.due = now.Add(spread(life*13/20, life/10))
}

func lifeOf(answer *authenticationv1.TokenRequest, now time.Time) (time.Duration, error) {
	if answer.Status.Token == "" {
		return 0, errors.New("the response has no token")
	}
	if issued := answer.CreationTimestamp; !issued.IsZero() {
		// Both are from the API server's clock, whatever the local clock is.
		now = issued.Time
	}
	life := answer.Status.ExpirationTimestamp.Sub(now)
	if life <= 0 {
		return 0, fmt.Errorf("the token in the response expired at %s",
			answer.Status.ExpirationTimestamp.UTC().Format(time.RFC3339))
	}
	return life, nil
}

// spread returns least with a random part of more added.
func spread(least, more time.Duration) time.Duration {
	return least + time.Duration(rand.Int64N(max(1, int64(more)))) //gosec:disable G404 -- not a secret
}
