package main

import (
	"strings"
	"testing"
)

func TestShow(t *testing.T) {
	const events = `{"ImportPath":"p/three","Action":"build-output","Output":"c.go:1: undefined: x\n"}
{"ImportPath":"p/three","Action":"build-fail"}
{"Action":"start","Package":"p/one"}
{"Action":"output","Package":"p/one","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p/two","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"p/one","Test":"TestA","Output":"    a.go:1: fine\n"}
{"Action":"output","Package":"p/two","Test":"TestB/sub","Output":"    b.go:1: why it failed\n"}
{"Action":"fail","Package":"p/two","Test":"TestB/sub","Elapsed":0.5}
{"Action":"pass","Package":"p/one","Test":"TestA","Elapsed":1.234}
{"Action":"fail","Package":"p/two","Test":"TestB","Elapsed":0.5}
{"Action":"output","Package":"p/two","Test":"TestC","Output":"panic: at once\n"}
{"Action":"fail","Package":"p/two","Elapsed":2}
{"Action":"output","Package":"p/one","Output":"PASS\n"}
{"Action":"pass","Package":"p/one","Elapsed":3}
`
	const shown = `c.go:1: undefined: x
--- PASS: TestA (1.23s) one
--- FAIL: TestB (0.50s) two
=== RUN   TestB
    b.go:1: why it failed
panic: at once
FAIL p/two 2.0s
ok   p/one 3.0s
`
	// The log has one package after the other, although they ran at the same time.
	const logged = `c.go:1: undefined: x
=== RUN   TestB
    b.go:1: why it failed
panic: at once
=== RUN   TestA
    a.go:1: fine
PASS
`
	var out, log strings.Builder
	if err := show(strings.NewReader(events), &out, &log); err != nil {
		t.Fatal(err)
	}
	if out.String() != shown {
		t.Errorf("shown is\n%swant\n%s", out.String(), shown)
	}
	if log.String() != logged {
		t.Errorf("logged is\n%swant\n%s", log.String(), logged)
	}
}

func TestShowSaysWhatItCannotRead(t *testing.T) {
	var out, log strings.Builder
	if err := show(strings.NewReader("FAIL\tp/one [setup failed]\n"), &out, &log); err == nil {
		t.Error("no error for what is no event")
	}
}
