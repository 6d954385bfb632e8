package enginetest

import (
	"math"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// TestUnknownResults judges steps of which it is not known whether they happened.
func TestUnknownResults(t *testing.T) {
	step := func(call, end int64, out result, actions ...action) porcupine.Operation {
		return porcupine.Operation{ClientId: int(call), Input: &plan{actions: actions}, Call: call, Return: end, Output: out}
	}
	put := func(value int32) action { return action{kind: actionPut, key: 1, value: value} }
	unknown := func(call int64, actions ...action) porcupine.Operation {
		return step(call, math.MaxInt64, result{unknown: true}, actions...)
	}
	read := func(call int64, value int32) porcupine.Operation {
		return step(call, call+1, result{read: []int32{1, value}}, action{kind: actionGet, key: 1})
	}
	var many []porcupine.Operation // of which each would double the search
	for n := range int32(60) {
		many = append(many, unknown(int64(n), put(100+n)), unknown(int64(n), action{kind: actionGet, key: 1}))
	}
	for name, tc := range map[string]struct {
		steps []porcupine.Operation
		fits  bool
	}{
		"happened":         {[]porcupine.Operation{unknown(1, put(5)), read(3, 5)}, true},
		"not happened":     {[]porcupine.Operation{unknown(1, put(5)), read(3, 0)}, true},
		"happened late":    {[]porcupine.Operation{unknown(1, put(5)), read(3, 0), read(5, 5)}, true},
		"read before":      {[]porcupine.Operation{read(1, 5), unknown(3, put(5))}, false},
		"undone":           {[]porcupine.Operation{unknown(1, put(5)), read(3, 5), read(5, 0)}, false},
		"may have deleted": {[]porcupine.Operation{unknown(1, put(5)), read(3, 5), unknown(4, action{kind: actionDelete, key: 1}), read(6, 0)}, true},
		"many":             {slices.Concat(many, []porcupine.Operation{read(1000, 130), read(1002, 140)}), true},
		"many, undone":     {slices.Concat(many, []porcupine.Operation{read(1000, 130), read(1002, 0)}), false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := judge(tc.steps); (err == nil) != tc.fits {
				t.Errorf("judge() = %v", err)
			}
		})
	}
}
