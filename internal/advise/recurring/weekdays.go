package recurring

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Weekdays is a set of days of the week; bit 0 is Sunday, as in cron.
type Weekdays uint8

// EveryDay, WorkingDays and Weekend are the sets that loads follow as a rule.
const (
	EveryDay    Weekdays = 1<<7 - 1
	WorkingDays Weekdays = 1<<time.Monday | 1<<time.Tuesday | 1<<time.Wednesday | 1<<time.Thursday | 1<<time.Friday
	Weekend     Weekdays = 1<<time.Saturday | 1<<time.Sunday
)

// patterns are the days on which jumps are searched for. Of two that are as good, the first counts.
func patterns() []Weekdays {
	all := []Weekdays{EveryDay, WorkingDays, Weekend}
	for day := time.Sunday; day <= time.Saturday; day++ {
		all = append(all, 1<<day)
	}
	return all
}

// Has reports whether a day of the week is one of them.
func (w Weekdays) Has(day time.Weekday) bool { return w&(1<<day) != 0 }

func (w Weekdays) before() Weekdays { return (w>>1 | w<<6) & EveryDay }

var dayNames = [...]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

func (w Weekdays) cron() string {
	if w == EveryDay {
		return "*"
	}
	var parts []string
	for first := 0; first < 7; first++ {
		if !w.Has(time.Weekday(first)) {
			continue
		}
		last := first
		for last < 6 && w.Has(time.Weekday(last+1)) {
			last++
		}
		part := dayNames[first]
		if last > first {
			part += "-" + dayNames[last]
		}
		parts, first = append(parts, part), last
	}
	return strings.Join(parts, ",")
}

// Cron is when the schedule starts.
func (p *Proposal) Cron() string {
	hours := strconv.Itoa(p.Hour)
	switch {
	case p.EveryHours == 1:
		hours = "*"
	case p.EveryHours > 1:
		hours = fmt.Sprintf("%d-23/%d", p.Hour, p.EveryHours)
	}
	return fmt.Sprintf("%d %s * * %s", p.Minute, hours, p.Days.cron())
}

const minutesOfHour, minutesOfDay = 60, 24 * 60

// day is a day of the calendar.
type day struct {
	year    int
	month   time.Month
	day     int
	weekday time.Weekday
}

func calendar(h *History, location *time.Location) []day {
	if len(h.Pods) == 0 {
		return nil
	}
	at, last := h.Start.In(location), h.Start.Add(time.Duration(len(h.Pods)-1)*time.Minute)
	var days []day
	for year, month, date := at.Date(); ; date++ {
		noon := time.Date(year, month, date, 12, 0, 0, 0, location)
		d := day{weekday: noon.Weekday()}
		d.year, d.month, d.day = noon.Date()
		if len(days) > 0 && d.at(0, location).After(last) {
			return days
		}
		days = append(days, d)
	}
}

// at is when the clock shows a minute of the day; before midnight and after it those of the neighbours.
func (d *day) at(minute int, location *time.Location) time.Time {
	return time.Date(d.year, d.month, d.day, 0, minute, 0, 0, location)
}
