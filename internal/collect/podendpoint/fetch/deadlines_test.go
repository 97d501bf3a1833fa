package fetch

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// pipe is a request with a connection that records when it ended.
type pipe struct {
	flight      flight
	conn        net.Conn
	ends, ended time.Time
}

func (d *deadlines) open(ends time.Time) *pipe {
	here, there := net.Pipe()
	p := &pipe{conn: here, ends: ends}
	go func() {
		_, _ = io.Copy(io.Discard, here)
		p.ended = time.Now()
		_ = there.Close()
	}()
	d.begin(context.Background(), &p.flight, here, ends)
	return p
}

// For any order of begins and ends, each request that is still under way at its deadline ends then, and no other.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		for range 300 {
			var d deadlines
			var running []*pipe
			for range random.IntN(40) {
				<-time.After(time.Duration(random.IntN(400)) * time.Millisecond)
				synctest.Wait()
				if random.IntN(2) == 0 || len(running) == 0 {
					// Some have used a part of their time to connect.
					running = append(running, d.open(time.Now().Add(time.Duration(100+random.IntN(900))*time.Millisecond)))
					continue
				}
				i := random.IntN(len(running))
				p := running[i]
				running = append(running[:i:i], running[i+1:]...)
				if isOver := d.end(&p.flight); isOver != !p.ended.IsZero() || isOver && !p.ended.Equal(p.ends) {
					t.Fatalf("over %t, ended at %s, not at %s", isOver, p.ended, p.ends)
				}
				_ = p.conn.Close()
			}
			<-time.After(2 * time.Second)
			synctest.Wait()
			for _, p := range running {
				if !p.ended.Equal(p.ends) || !d.end(&p.flight) {
					t.Fatalf("ended at %s, not at %s", p.ended, p.ends)
				}
			}
			if d.first != nil || d.last != nil || d.isArmed {
				t.Fatal("something is left")
			}
		}
	})
}
