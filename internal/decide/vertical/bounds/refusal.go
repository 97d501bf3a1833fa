package bounds

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// Bound is a check of the API server on a pod's requests and limits.
type Bound uint8

// The bounds. AboveLimit, BelowZero and the two of the pod's own resources are checks of validation, the others of the
// LimitRanger.
const (
	// AboveLimit: a request is above the limit.
	AboveLimit Bound = iota + 1
	// BelowMin: a request or a limit is below the minimum of a LimitRange.
	BelowMin
	// AboveMax: a request or a limit is above the maximum of a LimitRange.
	AboveMax
	// AboveRatio: the limit is too far above the request for a LimitRange.
	AboveRatio
	// AbovePodRequests: the containers together request more than the pod.
	AbovePodRequests
	// AbovePodLimits: a limit is above the pod's.
	AbovePodLimits
	// BelowZero: an amount is negative, by a maxAllowed that is.
	BelowZero
)

var boundTexts = [...]string{
	AboveLimit: "the request is above the limit", BelowMin: "the min of a LimitRange is not reached",
	AboveMax: "the max of a LimitRange is exceeded", AboveRatio: "the maxLimitRequestRatio of a LimitRange is exceeded",
	AbovePodRequests: "the containers request more than the pod's own resources",
	AbovePodLimits:   "the limit is above the pod's own",
	BelowZero:        "the amount is below zero",
}

// Refusal is the reason why the API server would not admit a pod.
type Refusal struct {
	Container string
	Resource  vertical.Resource
	Bound     Bound
}

// String returns the resource, its container, and the bound.
func (r Refusal) String() string {
	of := "the pod"
	if r.Container != "" {
		of = "container " + r.Container
	}
	return fmt.Sprintf("%s of %s: %s", r.Resource, of, boundTexts[r.Bound])
}

// IsLimitRange reports whether a LimitRange is the cause.
func (r Refusal) IsLimitRange() bool {
	return r.Bound == BelowMin || r.Bound == AboveMax || r.Bound == AboveRatio
}

// Refused returns why the API server would not admit the pod with these requests and limits of its containers, in their
// order; false if it would. It applies the checks of pods' validation and of the LimitRanger on CPU and memory at a
// creation or a resize (pkg/apis/core/validation, plugin/pkg/admission/limitranger; v1.37).
func Refused(pod Pod, after []vertical.Resized, ranges *Ranges) (Refusal, bool) {
	if ranges == nil {
		ranges = &Ranges{}
	}
	var sum vertical.Resized
	for i := range after {
		if refusal, refused := ranges.refuseContainer(pod.Containers[i].Name, after[i]); refused {
			return refusal, true
		}
		if r, above := exceeds(after[i].Limits, pod.Resources.Limits); above {
			return Refusal{pod.Containers[i].Name, r, AbovePodLimits}, true
		}
		sum = sum.Plus(after[i])
	}
	for _, c := range pod.InitContainers {
		if refusal, refused := ranges.refuseContainer(c.Name, c.Resized); refused {
			return refusal, true
		}
	}
	containers := pod.InitContainers.Total(sum, vertical.Resized{})
	if r, above := exceeds(containers.Requests, pod.Resources.Requests); above {
		return Refusal{"", r, AbovePodRequests}, true
	}
	if !ranges.HasPod {
		return Refusal{}, false
	}
	return ranges.Pod.refuse("", pod.InitContainers.Total(sum, pod.Resources))
}

// refuseContainer checks a container with the defaults that the API server sets first: the LimitRange's default limit,
// and the limit as the request. A LimitRange's own defaults are its max as the default limit, and its min as the
// default request.
func (r *Ranges) refuseContainer(name string, c vertical.Resized) (Refusal, bool) {
	c.Limits = or(or(c.Limits, r.Container.Default), r.Container.Max)
	c.Requests = or(or(c.Requests, c.Limits), r.Container.Min)
	if below, is := isNegative(c.Requests, c.Limits); is {
		return Refusal{name, below, BelowZero}, true
	}
	if above, is := exceeds(c.Requests, c.Limits); is {
		return Refusal{name, above, AboveLimit}, true
	}
	return r.Container.refuse(name, c)
}

// refuse returns an amount of a container or a pod that is not within the range. A missing amount is below every
// minimum, above every maximum and above every ratio.
func (r Range) refuse(container string, c vertical.Resized) (Refusal, bool) {
	for res := range vertical.Resource(vertical.Resources) {
		request, requested := c.Requests.Get(res)
		limit, limited := c.Limits.Get(res)
		least, hasMin := r.Min.Get(res)
		most, hasMax := r.Max.Get(res)
		ratio, hasRatio := r.MaxRatioMilli.Get(res)
		switch {
		case hasMin && (!requested || request < least || limited && limit < least):
			return Refusal{container, res, BelowMin}, true
		case hasMax && (!limited || isAbove(c.Limits, res, most) || isAbove(c.Requests, res, most)):
			return Refusal{container, res, AboveMax}, true
		case hasRatio && (request == 0 || limit == 0 || exceedsRatio(request, limit, ratio)):
			return Refusal{container, res, AboveRatio}, true
		}
	}
	return Refusal{}, false
}

// isNegative returns a resource of which some amount is below zero.
func isNegative(all ...vertical.Amounts) (vertical.Resource, bool) {
	for _, amounts := range all {
		for r := range vertical.Resource(vertical.Resources) {
			if amount, _ := amounts.Get(r); amount < 0 {
				return r, true
			}
		}
	}
	return 0, false
}

// exceeds returns a resource whose amount exceeds the maximum.
func exceeds(amounts, most vertical.Amounts) (vertical.Resource, bool) {
	for r := range vertical.Resource(vertical.Resources) {
		if bound, bounded := most.AtMost(r); bounded && isAbove(amounts, r, bound) {
			return r, true
		}
	}
	return 0, false
}

// isAbove compares with a bound in whole units.
func isAbove(amounts vertical.Amounts, r vertical.Resource, bound vertical.Amount) bool {
	amount, _ := amounts.AtMost(r)
	return amount > bound
}
