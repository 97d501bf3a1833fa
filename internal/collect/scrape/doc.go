// Package scrape scrapes targets, such as kubelets or pods: each of a set once in a period, at a moment of its own, and
// never more often or more of them at a time than a budget allows.
//
// The budget is of scrapes a second and of CPU: the cost of a target's scrapes is measured, and its next one begins
// when the budget has room for it. Beyond the budget intervals stretch: the target that is most overdue is scraped
// first. Targets that are marked urgent go before all others, a short time after their last scrape at the earliest;
// where the budget is so short that others have waited for ten periods, the two take turns.
//
// A scrape that takes longer than 250 ms leaves its slot to another target, and counts in a bound of its own. Where too
// many are that slow while most are quick, the longest running one is cancelled, after about a second; if the target's
// last response took long, after twice that time at the earliest. A target whose scrape fails is tried again after
// twice the period, then four times, and so on up to a bound, urgent or not, with its whole timeout, and all targets
// that failed share a quarter of the slots, of which each tenant, such as a namespace, has an equal part. So a part of
// the cluster that hangs does not hold up the rest, neither when it begins to hang nor later. [Rounds.State] has a
// target's error and since when it fails.
//
// The order is decided by plan, a value without clock, lock or goroutine; Rounds adds those.
package scrape
