package token

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// issuer counts tokens up.
type issuer struct {
	asked, audiences atomic.Int32
	life             time.Duration
	// skew is how far the server's clock is ahead.
	skew time.Duration
	err  error
	// hangs is the duration of a request.
	hangs time.Duration
}

func (i *issuer) CreateToken(
	ctx context.Context, name string, r *authenticationv1.TokenRequest, _ metav1.CreateOptions,
) (
	*authenticationv1.TokenRequest, error,
) {
	n := i.asked.Add(1)
	i.audiences.Add(int32(len(r.Spec.Audiences)))
	select {
	case <-time.After(i.hangs):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if i.err != nil {
		return nil, i.err
	}
	now := time.Now().Add(i.skew)
	return &authenticationv1.TokenRequest{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now)},
		Status: authenticationv1.TokenRequestStatus{
			Token: fmt.Sprint(name, n), ExpirationTimestamp: metav1.NewTime(now.Add(i.life)),
		},
	}, nil
}

func source(t *testing.T, i *issuer) *Source {
	t.Helper()
	s, err := New(i, "plimsoll-system", "reader")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shows fails unless the token is this one.
func shows(t *testing.T, s *Source, want string) {
	t.Helper()
	if got, err := s.Token(t.Context()); err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	synctest.Wait()
}

// TestRenewal: a token is used for at most three quarters of its lifetime while another can be had, whatever the clocks
// are, and all callers share one request.
func TestRenewal(t *testing.T) {
	for _, skew := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			i := &issuer{life: time.Hour, skew: skew, hangs: time.Second}
			s := source(t, i)
			for range 50 {
				go func() { _, _ = s.Token(t.Context()) }()
			}
			shows(t, s, "reader1")
			<-time.After(38 * time.Minute)
			shows(t, s, "reader1")
			<-time.After(8 * time.Minute)
			// No call waits: the token is valid.
			began := time.Now()
			shows(t, s, "reader1")
			if waited := time.Since(began); waited != 0 {
				t.Errorf("waited %s with a valid token", waited)
			}
			<-time.After(2 * time.Second)
			shows(t, s, "reader2")
			if n := i.asked.Load(); n != 2 || i.audiences.Load() != 0 {
				t.Errorf("asked %d times in 46 minutes, for %d audiences", n, i.audiences.Load())
			}
		})
	}
}

// TestFailure: a token outlives failures until it expires; then Token returns the error at once, and not every call
// makes a request.
func TestFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		s := source(t, i)
		shows(t, s, "reader1")
		i.err = errors.New("forbidden by RBAC")
		<-time.After(59 * time.Minute)
		shows(t, s, "reader1")
		before := i.asked.Load()
		<-time.After(2 * time.Minute)
		for range 600 {
			if got, err := s.Token(t.Context()); got != "" || err == nil ||
				!strings.Contains(err.Error(), "plimsoll-system/reader") || !strings.Contains(err.Error(), "forbidden by RBAC") {
				t.Fatalf("%q, %v", got, err)
			}
			<-time.After(100 * time.Millisecond)
		}
		if n := i.asked.Load() - before; n < 4 || n > 7 {
			t.Errorf("asked %d times in a minute", n)
		}
		i.err = nil
		<-time.After(retry + retry/2)
		if got, err := s.Token(t.Context()); err != nil || got == "" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestHungIssuer: a caller is bound by its own deadline, and the request by its own.
func TestHungIssuer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := source(t, &issuer{life: time.Hour, hangs: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		if _, err := s.Token(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if _, err := s.Token(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != timeout {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// TestRefused: an account that was deleted and created again has another token within the minute; a peer that refuses
// everything does not cause many requests.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		s := source(t, i)
		shows(t, s, "reader1")
		for range 10 * 60 {
			got, err := s.Token(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.Refused(got)
			s.Refused("some other")
			<-time.After(time.Second)
		}
		if n := i.asked.Load(); n < 5 || n > 11 {
			t.Errorf("asked %d times in 10 minutes", n)
		}
	})
}

// TestRefusedWhileNoneCanBeHad: a peer that refuses the old token does not cause a request each time while the API
// server issues none.
func TestRefusedWhileNoneCanBeHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		s := source(t, i)
		shows(t, s, "reader1")
		<-time.After(2 * time.Minute)
		i.err = errors.New("serviceaccounts \"reader\" not found")
		for range 600 {
			shows(t, s, "reader1")
			s.Refused("reader1")
			<-time.After(100 * time.Millisecond)
		}
		if n := i.asked.Load() - 1; n < 4 || n > 7 {
			t.Errorf("asked %d times in a minute", n)
		}
		i.err = nil
		<-time.After(retry + retry/2)
		_, _ = s.Token(t.Context())
		synctest.Wait()
		if got, err := s.Token(t.Context()); err != nil || got == "reader1" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestExpiredAnswer: an expired token is an error, and not every call makes a request.
func TestExpiredAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: -time.Minute}
		s := source(t, i)
		for range 600 {
			if got, err := s.Token(t.Context()); got != "" || err == nil || !strings.Contains(err.Error(), "expired") {
				t.Fatalf("%q, %v", got, err)
			}
			<-time.After(100 * time.Millisecond)
		}
		if n := i.asked.Load(); n < 4 || n > 7 {
			t.Errorf("asked %d times in a minute", n)
		}
	})
}
