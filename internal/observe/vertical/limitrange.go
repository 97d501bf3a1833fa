package vertical

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// RangesOf returns the common bounds of the LimitRanges of a namespace; nil if none of them bounds containers or pods.
// The order of names decides whose default is the last.
func RangesOf(all []*corev1.LimitRange) *bounds.Ranges {
	all = slices.SortedFunc(slices.Values(all), func(a, b *corev1.LimitRange) int { return cmp.Compare(a.Name, b.Name) })
	var ranges bounds.Ranges
	found := false
	for _, one := range all {
		for i := range one.Spec.Limits {
			item := &one.Spec.Limits[i]
			if item.Max == nil && item.Min == nil && item.Default == nil && item.MaxLimitRequestRatio == nil {
				continue
			}
			next := bounds.Range{
				Min: whole(AmountsOf(item.Min), vertical.Amounts.Get), Max: whole(AmountsOf(item.Max), vertical.Amounts.AtMost),
				Default:       whole(AmountsOf(item.Default), vertical.Amounts.AtMost),
				MaxRatioMilli: ratiosOf(item.MaxLimitRequestRatio),
			}
			switch item.Type {
			case corev1.LimitTypeContainer:
				ranges.Container, found = ranges.Container.And(next), true
			case corev1.LimitTypePod:
				ranges.Pod, ranges.HasPod, found = ranges.Pod.And(next), true, true
			}
		}
	}
	if !found {
		return nil
	}
	return &ranges
}

// whole are bounds in whole units: a minimum is rounded up, a maximum down.
func whole(
	amounts vertical.Amounts, rounded func(vertical.Amounts, vertical.Resource) (vertical.Amount, bool),
) vertical.Amounts {
	for r := range vertical.Resource(vertical.Resources) {
		if amount, ok := rounded(amounts, r); ok {
			amounts = amounts.With(r, amount)
		}
	}
	return amounts
}

// ratiosOf reads ratios, in thousandths.
func ratiosOf(list corev1.ResourceList) vertical.Amounts {
	var ratios vertical.Amounts
	for name, q := range list {
		if r, ok := resourceNamed(name); ok {
			ratios = ratios.With(r, vertical.Amount(quantity.Milli(&q)))
		}
	}
	return ratios
}
