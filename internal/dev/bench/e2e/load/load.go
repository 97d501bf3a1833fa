// Package load determines from the log of a test whether its load was as requested. A test sends a request every 30 s,
// each for 30 s of load. On a busy machine they come late, and there is no load in between: the test then judges an
// autoscaler by a load that did not exist.
package load

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"time"
)

// period is from one request to the next, by the tests' constants.
const period = 30 * time.Second

// allowed is how late a request may come: a tenth of the load is then missing, which is the tolerance of an HPA.
const allowed = 3 * time.Second

// Report counts the requests of a test.
type Report struct {
	// Requests were sent.
	Requests int `json:"requests"`
	// Late counts those that came too late after the one before, or never.
	Late int `json:"late"`
	// LongestGapSeconds is the longest time from one request to the next, or to the end; 0 if there were not two.
	LongestGapSeconds float64 `json:"longestGapSeconds"`
	// Failures counts errors; the test repeats a failed request after 15 s.
	Failures int `json:"failures"`
}

// Starved reports whether the load had gaps. A failure alone makes none: the test repeats the request, and if it takes
// long, the next request is late.
func (r Report) Starved() bool { return r.Late > 0 }

// String returns the numbers as text.
func (r Report) String() string {
	return fmt.Sprintf("%d of %d requests for load came late, up to %.0f s after the one before instead of 30; %d failed",
		r.Late, r.Requests, r.LongestGapSeconds, r.Failures)
}

var (
	// stamp matches the prefix of the tests' log lines: the level with month and day, the time.
	stamp = regexp.MustCompile(`^\s*[IWE](\d{4} \d{2}:\d{2}:\d{2}\.\d+)\s`)
	// sent begins a period. What is sent is CPU, memory, a metric or CPU by pod; each is a load of its own.
	sent = regexp.MustCompile(
		`RC (\S+): sending (?:request to consume \d+ (millicores|MB|of custom metric)|(per-pod CPU) request)`)
	// ended matches the end of requests. If a test changes the amount, the period continues.
	ended  = regexp.MustCompile(`RC \S+: (?:disabling (?:per-pod )?(?:CPU|mem)|stopping )`)
	failed = regexp.MustCompile(`Consume\w+ failure: |ConsumeCPUPerPod: error sending `)
)

// Read reads a log to its end.
func Read(log io.Reader) (Report, error) {
	var report Report
	last := map[[2]string]time.Time{} // by consumer and what is consumed
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if failed.MatchString(line) {
			report.Failures++
		}
		at, known := timeOf(line)
		if known && ended.MatchString(line) {
			report.end(last, at)
		}
		match := sent.FindStringSubmatch(line)
		if match == nil || !known {
			continue
		}
		report.Requests++
		of := [2]string{match[1], match[2] + match[3]}
		if before, again := last[of]; again {
			report.add(at.Sub(before))
		}
		last[of] = at
	}
	if err := lines.Err(); err != nil {
		return Report{}, fmt.Errorf("log of a test: %w", err)
	}
	return report, nil
}

// end forgets the requests whose period is over. One that is not answered keeps the next from being sent.
func (r *Report) end(last map[[2]string]time.Time, at time.Time) {
	for _, before := range last {
		if gap := at.Sub(before); gap > period+allowed {
			r.add(gap)
		}
	}
	clear(last)
}

func (r *Report) add(gap time.Duration) {
	r.LongestGapSeconds = max(r.LongestGapSeconds, gap.Seconds())
	if gap > period+allowed {
		r.Late++
	}
}

// timeOf returns the time of a line, whose year is unknown.
func timeOf(line string) (time.Time, bool) {
	match := stamp.FindStringSubmatch(line)
	if match == nil {
		return time.Time{}, false
	}
	at, err := time.Parse("0102 15:04:05", match[1])
	return at, err == nil
}
