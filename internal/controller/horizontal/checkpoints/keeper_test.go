package checkpoints

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // virtual time: the Keeper works meanwhile
	synctest.Wait()
}

// run starts the Keeper and lets it read the checkpoints. It ends with the test.
func (w *world) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	finish := w.Start(ctx)
	synctest.Wait()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			finish()
		}
	}
	t.Cleanup(stop)
	return stop
}

// takeAllOf takes all of these like an autoscaler's first decision.
func (w *world) takeAllOf(t *testing.T, keys []observe.Key) {
	t.Helper()
	for _, key := range keys {
		if _, _, isFinal := w.Take(key, uidOf(key)); !isFinal {
			t.Fatalf("%v is not final", key)
		}
	}
}

// TestEachIsWrittenOnceAnHour: at its own time, at most five a second.
func TestEachIsWrittenOnceAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, hours = 1500, 3
		w := newWorld(t, newStore())
		w.store.lasts = 20 * time.Millisecond
		w.run(t)
		w.takeAllOf(t, w.many(n))
		began := time.Now()
		pass(hours * time.Hour)
		last, perMinute, perSecond := map[string]time.Time{}, map[int]int{}, map[int]int{}
		for _, write := range w.store.writes {
			if before := last[write.name]; !before.IsZero() {
				if gap := write.at.Sub(before); gap < savePeriod-10*time.Second || gap > savePeriod+10*time.Second {
					t.Errorf("%s is written %s after the last time", write.name, gap)
				}
			}
			last[write.name] = write.at
			perMinute[int(write.at.Sub(began).Minutes())]++
			perSecond[int(write.at.Sub(began).Seconds())]++
		}
		if got := len(w.store.writes); len(last) != n || got != n*hours {
			t.Errorf("%d writes of %d autoscalers in %d hours, want %d", got, len(last), hours, n*hours)
		}
		for minute, writes := range perMinute {
			if writes < n/60/2 || writes > n/60*2 {
				t.Errorf("%d writes in minute %d, %d would be even", writes, minute, n/60)
			}
		}
		for second, writes := range perSecond {
			if writes > maxWritesPerSecond+1 {
				t.Errorf("%d writes in second %d", writes, second)
			}
		}
	})
}

// TestWritesAreBounded: the Keeper does not call a slow API server more often, and does not encode waiting checkpoints
// yet.
func TestWritesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newStore())
		w.store.lasts = 8 * time.Second
		w.run(t)
		w.takeAllOf(t, w.many(3600)) // twice what can be written
		pass(time.Hour)
		if w.store.most != writers {
			t.Errorf("%d writes at a time, want %d", w.store.most, writers)
		}
		want := writers * int(time.Hour/w.store.lasts)
		if got := len(w.store.writes); got < want*9/10 || got > want {
			t.Errorf("%d writes in an hour, want %d", got, want)
		}
		if waiting := len(w.encoded) - len(w.store.writes); waiting > writers {
			t.Errorf("%d are encoded and not written", waiting)
		}
	})
}

// TestSavedCheckpointIsTakenOnce: only the autoscaler with its UID takes it.
func TestSavedCheckpointIsTakenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := time.Now().Add(-20 * time.Minute).Truncate(time.Second)
		wla := observe.WLA("shop", "web")
		w := newWorld(t, newStore(checkpoint(web, uidOf(web), "loads", "season", at),
			checkpoint(wla, "another", "others", "", at)))
		if _, isFound, isFinal := w.Take(web, uidOf(web)); isFound || isFinal {
			t.Errorf("before it is read: found %v, final %v", isFound, isFinal)
		}
		w.run(t)
		saved, isFound, isFinal := w.Take(web, uidOf(web))
		if !isFound || !isFinal || string(saved.History) != "loads" || string(saved.Forecast) != "season" ||
			!saved.SavedAt.Equal(at) {
			t.Errorf("%+v, found %v, final %v", saved, isFound, isFinal)
		}
		for why, key := range map[string]observe.Key{"a second time": web, "of another UID": wla} {
			if saved, isFound, isFinal := w.Take(key, uidOf(key)); isFound || !isFinal || !saved.isEmpty() {
				t.Errorf("%s: %+v, found %v, final %v", why, saved, isFound, isFinal)
			}
		}
		for _, result := range []string{resultRestored, resultForeign} {
			if got := w.total(t, "reads_total", result); got != 1 {
				t.Errorf("%v %s, want 1", got, result)
			}
		}
	})
}

// TestAnotherUIDsCheckpointIsReplaced: the new autoscaler has its own checkpoint within the hour, without any part of
// the other's.
func TestAnotherUIDsCheckpointIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newStore(checkpoint(web, "another", "others", "season", time.Now())))
		w.run(t)
		w.set(web, "own", "")
		w.takeAllOf(t, []observe.Key{web})
		pass(savePeriod)
		o := w.store.of(web)
		if o.Spec.Autoscaler.UID != uidOf(web) || o.OwnerReferences[0].UID != uidOf(web) ||
			string(o.Spec.History) != "own" || len(o.Spec.Forecast) != 0 {
			t.Errorf("%+v", o)
		}
		if owner := o.OwnerReferences[0]; owner.Controller != nil || owner.BlockOwnerDeletion != nil ||
			owner.APIVersion != "autoscaling/v2" || owner.Kind != "HorizontalPodAutoscaler" || owner.Name != "web" {
			t.Errorf("%+v", owner)
		}
	})
}

// TestWholeReplacement: also of a checkpoint that another writer has written or deleted meanwhile.
func TestWholeReplacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newStore(checkpoint(web, uidOf(web), "old", "old season", time.Now())))
		w.run(t)
		w.set(web, "new", "")
		w.takeAllOf(t, []observe.Key{web})
		isNew := func(when string) {
			t.Helper()
			o := w.store.of(web)
			if o == nil || string(o.Spec.History) != "new" || len(o.Spec.Forecast) != 0 || time.Since(o.Spec.LastUpdateTime.Time) > savePeriod {
				t.Errorf("%s: %+v", when, o)
			}
		}
		pass(savePeriod)
		isNew("after an hour")
		if w.store.count("replace") != 1 || w.store.count("create")+w.store.count("get") != 0 {
			t.Errorf("calls: %v", w.store.calls)
		}
		w.store.replaced(checkpoint(web, uidOf(web), "somebody's", "somebody's", time.Now()))
		pass(savePeriod)
		isNew("after somebody's write")
		w.store.remove(web)
		pass(savePeriod)
		isNew("after it was deleted")
	})
}

// TestBusyAutoscalerIsAskedAgain: the Keeper retries a second later, not an hour.
func TestBusyAutoscalerIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newStore())
		w.run(t)
		w.set(web, "own", "")
		w.busy = true
		w.takeAllOf(t, []observe.Key{web})
		pass(savePeriod)
		w.mu.Lock()
		w.busy = false
		w.mu.Unlock()
		pass(2 * time.Second)
		if w.store.of(web) == nil || w.total(t, "writes_total", resultFailure) != 0 {
			t.Errorf("not written: %v", w.store.calls)
		}
	})
}

// TestGoneAutoscalerIsNotWritten: neither is one without data.
func TestGoneAutoscalerIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newStore())
		stop := w.run(t)
		w.takeAllOf(t, append(w.many(10), web))
		for _, key := range w.many(10) {
			w.Forget(key)
		}
		w.Forget(observe.HPA("shop", "never known"))
		pass(2 * savePeriod)
		stop()
		if len(w.store.writes) != 0 || len(w.encoded) == 0 {
			t.Errorf("written: %v", w.store.writes)
		}
	})
}

// TestNothingIsWrittenBeforeAllIsRead: a write would replace a checkpoint that has not been read yet. A refusal is
// logged once, and the controller continues.
func TestNothingIsWrittenBeforeAllIsRead(t *testing.T) {
	for name, refusal := range map[string]error{
		"no definition": apierrors.NewNotFound(resource, ""), "no right": apierrors.NewForbidden(resource, "", nil),
		"no answer": apierrors.NewTimeoutError("", 1),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, newStore(checkpoint(web, uidOf(web), "old", "", time.Now())))
				w.store.refuse = func(string) error { return refusal }
				w.run(t)
				w.set(web, "new", "")
				pass(3 * time.Hour)
				if _, isFound, isFinal := w.Take(web, uidOf(web)); isFound || isFinal {
					t.Errorf("found %v, final %v", isFound, isFinal)
				}
				if lists := w.store.count("list"); len(w.store.calls) != 1 || lists < 30 || lists > 60 {
					t.Errorf("calls: %v", w.store.calls)
				}
				if lines := w.logged(); len(lines) != 1 || !strings.Contains(lines[0], "cannot be read") {
					t.Errorf("the log:\n%s", strings.Join(lines, "\n"))
				}
				w.store.refuseWith(nil)
				pass(2 * longestLoadPause)
				if saved, isFound, _ := w.Take(web, uidOf(web)); !isFound || string(saved.History) != "old" {
					t.Errorf("%+v, found %v", saved, isFound)
				}
				if lists := w.store.count("list"); w.total(t, "reads_total", resultListFailed) != float64(lists-1) {
					t.Errorf("%d lists", lists)
				}
			})
		})
	}
}

// TestRefusedWrites: each is retried once an hour, or some minutes later if that helps; one line of the log has the
// reason.
func TestRefusedWrites(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		result string
		// least and most bound the attempts in a day.
		least, most int
	}{
		"no definition": {apierrors.NewNotFound(resource, ""), resultRefused, 24 * 20, 24 * 20},
		"no right":      {apierrors.NewForbidden(resource, "", nil), resultRefused, 24 * 20, 24 * 20},
		"no answer":     {apierrors.NewTimeoutError("", 1), resultFailure, 24 * 20 * 10, 24 * 20 * 12},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, newStore())
				w.run(t)
				w.takeAllOf(t, w.many(20))
				w.store.refuseWith(func(string) error { return c.err })
				pass(24 * time.Hour)
				if tries := w.store.count("create"); tries < c.least || tries > c.most ||
					w.total(t, "writes_total", c.result) != float64(tries) {
					t.Errorf("%d tries, %v counted", tries, w.total(t, "writes_total", c.result))
				}
				if lines := w.logged(); len(lines) != 1 || !strings.Contains(lines[0], "not written") {
					t.Errorf("the log:\n%s", strings.Join(lines, "\n"))
				}
				w.store.refuseWith(nil)
				pass(savePeriod)
				if n := w.store.size(); n != 20 {
					t.Errorf("%d are written afterwards", n)
				}
			})
		})
	}
}

// TestUnusableCheckpoints: forged checkpoints are not used, and do not prevent others from being read.
func TestUnusableCheckpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := func(name string) observe.Key { return observe.HPA("shop", name) }
		of := func(name string, change func(*plimsollv1alpha1.AutoscalerCheckpoint)) *plimsollv1alpha1.AutoscalerCheckpoint {
			o := checkpoint(key(name), uidOf(key(name)), "loads", "season", time.Now())
			change(o)
			return o
		}
		large := make([]byte, plimsollv1alpha1.MaxHistoryBytes+1)
		w := newWorld(t, newStore(
			of("good", func(*plimsollv1alpha1.AutoscalerCheckpoint) {}),
			of("unreadable", func(o *plimsollv1alpha1.AutoscalerCheckpoint) { o.Unreadable = "spec.history: no base64" }),
			of("kind", func(o *plimsollv1alpha1.AutoscalerCheckpoint) { o.Spec.Autoscaler.Kind = "Deployment" }),
			of("misnamed", func(o *plimsollv1alpha1.AutoscalerCheckpoint) { o.Name = "mine" }),
			of("oversized", func(o *plimsollv1alpha1.AutoscalerCheckpoint) { o.Spec.History = large }),
			of("oversized2", func(o *plimsollv1alpha1.AutoscalerCheckpoint) { o.Spec.Forecast = large }),
			of("future", func(o *plimsollv1alpha1.AutoscalerCheckpoint) {
				o.Spec.LastUpdateTime.Time = time.Now().Add(2 * time.Hour)
			}),
			of("ahead", func(o *plimsollv1alpha1.AutoscalerCheckpoint) {
				o.Spec.LastUpdateTime.Time = time.Now().Add(50 * time.Minute)
			}),
		))
		w.run(t)
		began := time.Now()
		for name, wantAhead := range map[string]time.Duration{"good": 0, "future": 0, "ahead": 50 * time.Minute} {
			saved, isFound, _ := w.Take(key(name), uidOf(key(name)))
			if ahead := saved.SavedAt.Sub(began); !isFound || ahead < wantAhead-time.Second || ahead > wantAhead {
				t.Errorf("%s: %+v, found %v", name, saved, isFound)
			}
		}
		for _, name := range []string{"unreadable", "kind", "misnamed", "oversized", "oversized2"} {
			if saved, isFound, isFinal := w.Take(key(name), uidOf(key(name))); isFound || !isFinal {
				t.Errorf("%s is used: %+v", name, saved)
			}
		}
		for result, want := range map[string]float64{resultUnreadable: 2, resultMisnamed: 1, resultOversized: 2, resultFuture: 1} {
			if got := w.total(t, "reads_total", result); got != want {
				t.Errorf("%v %s, want %v", got, result, want)
			}
		}
		if lines := w.logged(); len(lines) != 3 {
			t.Errorf("the log:\n%s", strings.Join(lines, "\n"))
		}
	})
}

// TestFormerCheckpoint: a checkpoint of the former form, with its data in status, is not used. The log has one line
// about all of them, and the next write of each replaces it.
func TestFormerCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := []observe.Key{web, observe.HPA("shop", "api")}
		stored := newStore()
		for _, key := range keys {
			former := &plimsollv1alpha1.AutoscalerCheckpoint{}
			text := fmt.Appendf(nil, `{"apiVersion":"plimsoll.dev/v1alpha1","kind":"AutoscalerCheckpoint",
				"metadata":{"namespace":"shop","name":"hpa-%[1]s"},
				"spec":{"autoscaler":{"kind":"HorizontalPodAutoscaler","name":"%[1]s","uid":%[2]q}},
				"status":{"savedAt":"2026-11-20T12:00:00Z","history":"AQI=","forecast":"AwQ="}}`, key.Name, uidOf(key))
			if err := json.Unmarshal(text, former); err != nil {
				t.Fatal(err)
			}
			stored.put(former)
		}
		w := newWorld(t, stored)
		w.run(t)
		for _, key := range keys {
			w.set(key, "new", "")
			if saved, isFound, isFinal := w.Take(key, uidOf(key)); isFound || !isFinal {
				t.Errorf("%s is used: %+v", key, saved)
			}
		}
		pass(savePeriod)
		for _, key := range keys {
			if got := w.store.of(key); string(got.Spec.History) != "new" || got.Spec.LastUpdateTime.IsZero() {
				t.Errorf("%s is not replaced: %+v", key, got.Spec)
			}
		}
		lines := w.logged()
		if got := w.total(t, "reads_total", resultEmpty); got != 2 || len(lines) != 1 || !strings.Contains(lines[0], "empty") {
			t.Errorf("%v are empty; the log:\n%s", got, strings.Join(lines, "\n"))
		}
	})
}

// TestUnknownAutoscalersAreBounded: checkpoints of autoscalers that do not exist take little memory, and do not
// displace those of existing ones.
func TestUnknownAutoscalersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3800
		s := newStore(checkpoint(web, uidOf(web), "loads", "", time.Now()))
		history := strings.Repeat("x", plimsollv1alpha1.MaxHistoryBytes)
		forecast := strings.Repeat("x", plimsollv1alpha1.MaxForecastBytes)
		for i := range n {
			key := observe.WLA("bad", "w-"+strconv.Itoa(i))
			s.put(checkpoint(key, uidOf(key), history, forecast, time.Now()))
		}
		w := newWorld(t, s)
		w.set(web, "own", "")
		w.run(t)
		if got := len(w.kept); got > maxUnknownBytes/len(history+forecast)+1 || got < n/2 {
			t.Errorf("%d are kept", got)
		}
		if left := w.total(t, "reads_total", resultTooMany); left != float64(n+1-len(w.kept)) {
			t.Errorf("%v are left out", left)
		}
		pass(keepTime - time.Second)
		if saved, isFound, _ := w.Take(web, uidOf(web)); !isFound || string(saved.History) != "loads" {
			t.Errorf("%+v", saved)
		}
		pass(time.Second)
		if len(w.kept) != 0 || w.unknownBytes != 0 {
			t.Errorf("%d are kept after all, %d bytes", len(w.kept), w.unknownBytes)
		}
	})
}

// TestUnknownAutoscalerThatIsTaken: an autoscaler that appears in the caches later frees its share of the memory for
// unknown ones.
func TestUnknownAutoscalerThatIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := observe.WLA("shop", "other")
		w := newWorld(t, newStore(checkpoint(web, uidOf(web), "loads", "", time.Now()),
			checkpoint(other, uidOf(other), "loads", "", time.Now())))
		w.run(t)
		both := w.unknownBytes
		w.takeAllOf(t, []observe.Key{web})
		if left := len("loads" + "shop" + "other"); both <= left || w.unknownBytes != left {
			t.Errorf("%d bytes of %d are unknown, want %d", w.unknownBytes, both, left)
		}
	})
}

// TestCachesAreFilledFirst: the checkpoints are read once the caches are filled, because all autoscalers are unknown
// before that. A cache that is never filled delays the reading by a minute.
func TestCachesAreFilledFirst(t *testing.T) {
	for why, isFilled := range map[string]bool{"filled": true, "never filled": false} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, newStore(checkpoint(web, uidOf(web), "loads", "", time.Now())))
				filled := make(chan struct{})
				w.config.Filled = filled
				w.run(t)
				pass(fillTimeout - time.Second)
				if _, _, isFinal := w.Take(web, uidOf(web)); isFinal || w.store.count("list") != 0 {
					t.Errorf("%d lists before the caches are filled", w.store.count("list"))
				}
				w.set(web, "loads", "")
				if isFilled {
					close(filled)
					synctest.Wait()
				} else {
					pass(time.Second)
				}
				if saved, isFound, _ := w.Take(web, uidOf(web)); !isFound || string(saved.History) != "loads" {
					t.Errorf("%+v", saved)
				}
				if isFilled == (len(w.logged()) > 0) {
					t.Errorf("the log:\n%s", strings.Join(w.logged(), "\n"))
				}
			})
		})
	}
}

// TestOversizedPartIsLeftOut: the other part is saved without an older form of it.
func TestOversizedPartIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newStore(checkpoint(web, uidOf(web), "old", "old season", time.Now())))
		w.run(t)
		w.set(web, "new", strings.Repeat("x", plimsollv1alpha1.MaxForecastBytes+1))
		w.takeAllOf(t, []observe.Key{web})
		pass(savePeriod)
		if o := w.store.of(web); string(o.Spec.History) != "new" || len(o.Spec.Forecast) != 0 {
			t.Errorf("%+v", o.Spec)
		}
		if w.total(t, "writes_total", resultOversized) != 1 || len(w.logged()) != 1 {
			t.Errorf("the log:\n%s", strings.Join(w.logged(), "\n"))
		}
	})
}

// TestEndOfTheProcess: checkpoints are written in the order of their age, never saved ones first; recently saved ones
// are not written again.
func TestEndOfTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newStore())
		stop := w.run(t)
		old := w.many(50)
		w.takeAllOf(t, old)
		pass(savePeriod)
		w.set(web, "new", "")
		w.takeAllOf(t, []observe.Key{web})
		before := len(w.store.writes)
		order := []string{"shop/hpa-web"}
		for _, write := range w.store.writes {
			if time.Since(write.at) >= youngestFlushed {
				order = append(order, write.name)
			}
		}
		w.many(50)
		began := time.Now()
		stop()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %s", took)
		}
		var got []string
		for _, write := range w.store.writes[before:] {
			got = append(got, write.name)
		}
		if strings.Join(got, " ") != strings.Join(order, " ") {
			t.Errorf("written\n%v, want\n%v", got, order)
		}
	})
}

// TestEndAfterARestart: the age includes saves of an earlier process.
func TestEndAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		ages := map[string]time.Duration{
			"a": 10 * time.Minute, "b": time.Minute, "c": 50 * time.Minute, "d": 30 * time.Minute, "ahead": -2 * time.Minute,
		}
		w := newWorld(t, s)
		var keys []observe.Key
		for name, age := range ages {
			key := observe.HPA("shop", name)
			keys = append(keys, key)
			s.put(checkpoint(key, uidOf(key), "old", "", time.Now().Add(-age)))
			w.set(key, "new", "")
		}
		stop := w.run(t)
		w.takeAllOf(t, keys)
		w.set(web, "new", "")
		w.takeAllOf(t, []observe.Key{web})
		stop()
		var got []string
		for _, write := range s.writes {
			got = append(got, write.name)
		}
		if want := "shop/hpa-web shop/hpa-c shop/hpa-d shop/hpa-a"; strings.Join(got, " ") != want {
			t.Errorf("written %v, want %s", got, want)
		}
	})
}

// TestEndIsBounded: an API server that does not respond delays the end by seconds only.
func TestEndIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newStore())
		w.store.lasts = 3 * time.Second
		stop := w.run(t)
		w.takeAllOf(t, w.many(1000))
		began := time.Now()
		stop()
		if took := time.Since(began); took != flushTimeout {
			t.Errorf("it took %s, want %s", took, flushTimeout)
		}
		if got, want := len(w.store.writes), flushWriters; got != want || w.store.most != flushWriters {
			t.Errorf("%d written, %d at a time; want %d", got, w.store.most, want)
		}
		if w.total(t, "writes_total", resultFailure) != 0 {
			t.Error("a scrape that the end cancelled counts as failed")
		}
	})
}

// TestNothingIsWrittenAfterTheLease: a process that no longer leads writes nothing, also if it loses the lead during
// the writes.
func TestNothingIsWrittenAfterTheLease(t *testing.T) {
	for name, after := range map[string]time.Duration{"lost": 0, "lost meanwhile": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, newStore())
				w.store.lasts = time.Second
				stop := w.run(t)
				w.takeAllOf(t, w.many(1000))
				lose := func() {
					w.mu.Lock()
					defer w.mu.Unlock()
					w.leads = false
				}
				if after == 0 {
					lose()
				} else {
					defer time.AfterFunc(after, lose).Stop()
				}
				lost := time.Now().Add(after)
				stop()
				for _, write := range w.store.writes {
					if write.at.After(lost.Add(w.store.lasts)) {
						t.Errorf("%s is written %s after that", write.name, write.at.Sub(lost))
					}
				}
				if (after == 0) != (len(w.store.writes) == 0) {
					t.Errorf("%d writes", len(w.store.writes))
				}
			})
		})
	}
}

// TestNextLeadersCheckpointIsLeft: at the end the next leader may have written it already.
func TestNextLeadersCheckpointIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newStore(checkpoint(web, uidOf(web), "first", "", time.Now())))
		stop := w.run(t)
		w.set(web, "own", "")
		w.takeAllOf(t, []observe.Key{web})
		w.store.replaced(checkpoint(web, uidOf(web), "the next leader's", "", time.Now()))
		stop()
		if o := w.store.of(web); string(o.Spec.History) != "the next leader's" || w.store.count("get") != 0 {
			t.Errorf("%q is replaced", o.Spec.History)
		}
	})
}

func TestNewChecks(t *testing.T) {
	if _, err := New(&Config{}); err == nil {
		t.Error("a Keeper without checkpoints is created")
	}
}
