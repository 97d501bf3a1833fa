package getcache

import "time"

// entry is an object. The lock of the Cache guards it.
type entry[V any] struct {
	// value is what the API server sent when it was asked at confirmed. There may be none.
	value    V
	hasValue bool
	// bytes is what Config.Bytes says of the value.
	bytes     int
	confirmed time.Time
	// tried is when the last read ended, err why it failed.
	tried time.Time
	err   error
	// reading is closed when the read ends that is under way or waits for its turn; nil if there is none.
	reading chan struct{}
	// used is the last Get.
	used time.Time
}

// result is the value, or why there is none.
func (e *entry[V]) result() (V, error) {
	switch {
	case e.hasValue:
		return e.value, nil
	case e.err != nil:
		return e.value, e.err
	default:
		return e.value, errLimited
	}
}

// isDue reports whether the object is to be read.
func (e *entry[V]) isDue(now time.Time, config *Config[V]) bool {
	age := config.Age
	if e.err != nil {
		age = config.FailureAge
	}
	return e.reading == nil && (e.tried.IsZero() || now.Sub(e.tried) >= age)
}

// isUsable reports whether the result need not be waited for. A failure of a moment ago shows that the
// API server does not answer.
func (e *entry[V]) isUsable(now time.Time, config *Config[V]) bool {
	switch {
	case e.hasValue && e.err == nil:
		return now.Sub(e.confirmed) < config.Age+config.Age/2
	case e.hasValue:
		return now.Sub(e.tried) < config.FailureAge+2*timeout
	default:
		return e.err != nil && now.Sub(e.tried) < config.FailureAge
	}
}

// isIdle reports whether nothing needs the entry.
func (e *entry[V]) isIdle(now time.Time, config *Config[V]) bool {
	unused := config.FailureAge
	if e.hasValue {
		unused = MaxUnconfirmed
	}
	return e.reading == nil && now.Sub(e.used) >= unused
}

// expire drops a value that was not confirmed for too long.
func (e *entry[V]) expire(now time.Time) {
	if e.hasValue && now.Sub(e.confirmed) >= MaxUnconfirmed {
		e.drop()
	}
}

// end is called at the end of a read.
func (e *entry[V]) end(now time.Time, err error) {
	e.tried, e.err = now, err
	if err != nil && isAnswer(err) {
		e.drop()
	}
	close(e.reading)
	e.reading = nil
}

func (e *entry[V]) drop() { e.value, e.hasValue = *new(V), false }
