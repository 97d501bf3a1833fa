package certificate

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// replicas are two that share a Secret, each with its own clock.
type replicas struct {
	t       *testing.T
	secrets corev1client.SecretInterface
	kept    [2]*Kept
	ahead   [2]time.Duration
	// believed are the authorities that the API server trusts, path is where it sends requests.
	believed []byte
	path     string
}

// perMinute are terms of an upkeep that checks every minute.
var perMinute = Terms{Names: []string{server}, Lifetime: 90 * 24 * time.Hour, Settle: 3 * time.Minute}

func twoReplicas(t *testing.T) *replicas {
	t.Helper()
	r := &replicas{t: t, secrets: fake.NewClientset().CoreV1().Secrets("plimsoll-system")}
	for i := range r.kept {
		r.restart(i)
	}
	return r
}

// restart gives a replica an empty state.
func (r *replicas) restart(i int) {
	r.t.Helper()
	var err error
	if r.kept[i], err = Keep(r.secrets, "tls", perMinute); err != nil {
		r.t.Fatal(err)
	}
	r.kept[i].Registered = func(context.Context) ([]byte, string, error) { return r.believed, r.path, nil }
}

// look is one replica's check: it refreshes and registers. The error is that of an API server without the new
// certificate yet.
func (r *replicas) look(i int, now time.Time) (unknown error) {
	r.t.Helper()
	if err := r.kept[i].Refresh(r.t.Context(), now.Add(r.ahead[i])); err != nil {
		r.t.Fatal(err)
	}
	unknown = believes(r.believed, r.kept[i].Shown(), now)
	r.believed, r.path = r.kept[i].Shown().Authorities, r.kept[i].Shown().Path
	return unknown
}

// check fails unless the API server trusts both replicas.
func (r *replicas) check(now time.Time, when string) {
	r.t.Helper()
	for i, kept := range r.kept {
		if kept.Shown() == nil {
			continue
		}
		if err := believes(r.believed, kept.Shown(), now); err != nil {
			r.t.Fatalf("%s no client trusts replica %d: %v", when, i, err)
		}
		if kept.Shown().Path != r.path {
			r.t.Fatalf("%s replica %d is not asked where it answers", when, i)
		}
	}
}

func (r *replicas) delete() {
	r.t.Helper()
	if err := r.secrets.Delete(r.t.Context(), "tls", metav1.DeleteOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// TestDeletedSecret: while both replicas run, and when one of them restarts at that moment, the API server trusts both
// at every moment. A new authority signs in the end.
func TestDeletedSecret(t *testing.T) {
	for name, restarts := range map[string]bool{"both go on": false, "one begins anew": true} {
		r := twoReplicas(t)
		now := began
		for range 2 {
			_ = r.look(0, now)
			_ = r.look(1, now.Add(30*time.Second))
			now = now.Add(time.Minute)
		}
		before := r.kept[0].Shown().Certificate.Leaf
		r.delete()
		if restarts {
			r.restart(0)
		}
		for range 10 {
			unknown := r.look(0, now)
			if !restarts {
				if unknown != nil {
					t.Fatalf("%s: what is shown is not believed until the API server learns of it: %v", name, unknown)
				}
				r.check(now, name+": after the first looked")
			} else if err := believes(r.believed, r.kept[1].Shown(), now); err != nil {
				t.Fatalf("%s: the one that went on is not believed: %v", name, err)
			}
			now = now.Add(30 * time.Second)
			r.check(now, name)
			_ = r.look(1, now)
			r.check(now, name+": after the second looked")
			now = now.Add(30 * time.Second)
		}
		after := r.kept[0].Shown()
		if after.Certificate.Leaf.Equal(before) || !after.Certificate.Leaf.Equal(r.kept[1].Shown().Certificate.Leaf) {
			t.Errorf("%s: the certificate from before the loss is shown, or two are", name)
		}
		if err := believes(after.Authorities, &Shown{Certificate: after.Certificate}, now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEmptiedSecret: a Secret without an authority, as applying a manifest again leaves it, is like a missing one: the
// last certificate is served until the new authority has been published for long enough.
func TestEmptiedSecret(t *testing.T) {
	r := twoReplicas(t)
	_ = r.look(0, began)
	_ = r.look(1, began)
	before := r.kept[0].Shown().Certificate.Leaf
	secret, err := r.secrets.Get(t.Context(), "tls", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret.Data = nil
	if _, err := r.secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for half := range 12 {
		now := began.Add(time.Duration(half+2) * 30 * time.Second)
		if unknown := r.look(half%2, now); unknown != nil {
			t.Fatalf("what is shown is not believed until the API server learns of it: %v", unknown)
		}
		r.check(now, "after the Secret was emptied")
	}
	if r.kept[0].Shown().Certificate.Leaf.Equal(before) {
		t.Error("the new authority never signs")
	}
}

// TestClockBehind: a replica whose clock is years behind, or a little, does not keep replacing the other's
// certificates. It shows those of the other.
func TestClockBehind(t *testing.T) {
	for _, behind := range []time.Duration{10 * time.Minute, 30 * 24 * time.Hour, 50 * 365 * 24 * time.Hour} {
		r := twoReplicas(t)
		r.ahead[1] = -behind
		shown := map[string]bool{}
		for minute := range 60 {
			now := began.Add(time.Duration(minute) * time.Minute)
			_ = r.look(0, now)
			_ = r.look(1, now)
			r.check(now, "with a clock "+behind.String()+" behind")
			shown[string(r.kept[0].Shown().Certificate.Leaf.Raw)] = true
			shown[string(r.kept[1].Shown().Certificate.Leaf.Raw)] = true
		}
		if len(shown) != 1 {
			t.Errorf("%s behind: %d certificates in an hour", behind, len(shown))
		}
	}
}

// TestClockOfTheAPIServer: certificates are made by the clock of the API server, which verifies them, so that a replica
// with a clock ahead makes none that is not trusted yet.
func TestClockOfTheAPIServer(t *testing.T) {
	for _, wrong := range []time.Duration{-365 * 24 * time.Hour, 365 * 24 * time.Hour} {
		r := twoReplicas(t)
		for i := range r.kept {
			r.kept[i].Offset = func() time.Duration { return -r.ahead[i] }
		}
		r.ahead[0] = wrong
		shown := map[string]bool{}
		for minute := range 10 {
			now := began.Add(time.Duration(minute) * time.Minute)
			_ = r.look(0, now)
			_ = r.look(1, now)
			r.check(now, "with a clock "+wrong.String()+" ahead")
			shown[string(r.kept[0].Shown().Certificate.Leaf.Raw)] = true
		}
		if len(shown) != 1 {
			t.Errorf("%s ahead: %d certificates", wrong, len(shown))
		}
	}
}

// TestUnknownRegistration: a replica that cannot read the trusted authorities creates nothing.
func TestUnknownRegistration(t *testing.T) {
	r := twoReplicas(t)
	r.kept[0].Registered = func(context.Context) ([]byte, string, error) { return nil, "", errors.New("no answer") }
	if err := r.kept[0].Refresh(t.Context(), began); err == nil || r.kept[0].Shown() != nil {
		t.Errorf("%v, shows %v", err, r.kept[0].Shown())
	}
}

// TestPath: all replicas have the same, it cannot be guessed, and it survives a replica of a version without paths and
// the loss of the Secret.
func TestPath(t *testing.T) {
	r := twoReplicas(t)
	_ = r.look(0, began)
	_ = r.look(1, began)
	path := r.path
	if len(path) < 40 || path[0] != '/' {
		t.Errorf("path %q", path)
	}
	secret, err := r.secrets.Get(t.Context(), "tls", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(secret.Data, func(key string, _ []byte) bool { return key == pathKey })
	if _, err := r.secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	_ = r.look(1, began.Add(time.Minute))
	secret, err = r.secrets.Get(t.Context(), "tls", metav1.GetOptions{})
	if err != nil || string(secret.Data[pathKey]) != path || r.path != path {
		t.Errorf("%v; path %q, want %q", err, secret.Data[pathKey], path)
	}
	r.delete()
	_ = r.look(0, began.Add(2*time.Minute))
	r.restart(1)
	_ = r.look(1, began.Add(2*time.Minute))
	if r.path != path {
		t.Errorf("path %q after the loss, want %q", r.path, path)
	}
	other := twoReplicas(t)
	_ = other.look(0, began)
	if other.path == path {
		t.Error("another installation has the same")
	}
}

// TestClients: the file is read again; a truncated one changes nothing.
func TestClients(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	if _, err := ReadClients(file); err == nil {
		t.Error("no error for a missing file")
	}
	write := func(content []byte) {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := twoReplicas(t)
	_ = r.look(0, began)
	write(r.believed)
	clients, err := ReadClients(file)
	if err != nil {
		t.Fatal(err)
	}
	first := clients.Pool()
	write([]byte("half"))
	if err := clients.Refresh(); err == nil || !clients.Pool().Equal(first) {
		t.Errorf("%v", err)
	}
	other := twoReplicas(t)
	_ = other.look(0, began)
	write(slices.Concat(r.believed, other.believed))
	if err := clients.Refresh(); err != nil || clients.Pool().Equal(first) {
		t.Errorf("%v", err)
	}
}
