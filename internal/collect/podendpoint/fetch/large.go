package fetch

import "sync"

// large counts, for each group, the large bodies that are being read.
type large struct {
	// mu guards the following.
	mu     sync.Mutex
	total  int64
	groups map[string]int64
}

// reservation is the part of MaxLargeBytes that one body takes.
type reservation struct {
	from  *large
	group string
	bytes int64
}

// grow reports whether the body may have that size. Beyond most, groups below their equal part of half of it still may:
// one group leaves something to the others.
func (v *reservation) grow(size, most int64) bool {
	if size <= smallBytes || size <= v.bytes {
		return true
	}
	v.from.mu.Lock()
	defer v.from.mu.Unlock()
	v.from.addLocked(v, size-v.bytes)
	return v.from.total <= most || v.from.groups[v.group] <= most/2/int64(len(v.from.groups))
}

func (v *reservation) release() {
	if v.bytes == 0 {
		return
	}
	v.from.mu.Lock()
	defer v.from.mu.Unlock()
	v.from.addLocked(v, -v.bytes)
}

func (l *large) addLocked(v *reservation, bytes int64) {
	v.bytes += bytes
	l.total += bytes
	if l.groups[v.group] += bytes; l.groups[v.group] == 0 {
		delete(l.groups, v.group)
	}
}
