package vertical

import "testing"

func TestPolicyOf(t *testing.T) {
	policies := []ContainerPolicy{{Container: "web", Values: RequestsOnly}, {Container: AllContainers, Off: true}}
	for why, c := range map[string]struct {
		policies  []ContainerPolicy
		container string
		want      ContainerPolicy
	}{
		"its own goes before the one for all": {policies, "web", policies[0]},
		"the one for all":                     {policies, "proxy", policies[1]},
		"without any, both resources":         {nil, "web", ContainerPolicy{Container: "web", Controlled: Controls()}},
	} {
		if got := PolicyOf(c.policies, c.container); got != c.want {
			t.Errorf("%s: %+v, want %+v", why, got, c.want)
		}
	}
}

func TestAmounts(t *testing.T) {
	a := Of(100, 1<<20).Without(CPU)
	if _, ok := a.Get(CPU); ok {
		t.Error("a removed amount is still there")
	}
	if a != (Amounts{}.With(Memory, 1<<20)) {
		t.Errorf("%+v is not the amount of memory alone", a)
	}
	if !a.Without(Memory).IsEmpty() {
		t.Error("nothing is not empty")
	}
}

func TestDiffers(t *testing.T) {
	none := Amounts{}
	for why, c := range map[string]struct {
		a, b Amounts
		want bool
	}{
		"the same":           {Of(100, 1), Of(100, 2), false},
		"another":            {Of(100, 1), Of(200, 1), true},
		"none and some":      {none, Of(100, 1), true},
		"none and zero":      {none, Of(0, 1), true},
		"no amount in both":  {none, none.With(Memory, 1), false},
		"another notation":   {Of(100, 1), Of(100, 1).In(CPU, BinarySI), false},
		"of a rounded value": {Of(100, 1), Of(100, 1).RoundedUp(CPU), false},
	} {
		if got := c.a.Differs(c.b, CPU); got != c.want || c.b.Differs(c.a, CPU) != c.want {
			t.Errorf("%s: %t, want %t", why, got, c.want)
		}
	}
}
