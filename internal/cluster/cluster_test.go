package cluster

import (
	"fmt"
	"strings"
	"testing"
)

func TestRendezvousNodeLeaves(t *testing.T) {
	all, left := []string{"a", "b", "c"}, []string{"c", "a"}
	count := make(map[string]int)
	for i := range 3000 {
		key := fmt.Sprint("cookie-", i)
		before, after := Rendezvous(key, all), Rendezvous(key, left)
		count[before]++
		if before != "b" && before != after {
			t.Fatalf("key %s moved from %s to %s", key, before, after)
		}
	}
	for _, node := range all {
		if n := count[node]; n < 900 || n > 1100 {
			t.Errorf("node %s owns %d keys of 3000, want about a third", node, n)
		}
	}
}

// The values must never change: nodes of different versions would disagree.
func TestRendezvousIsStable(t *testing.T) {
	nodes := []string{"n1", "n2", "n3"}
	var got []string
	for i := range 8 {
		got = append(got, Rendezvous(fmt.Sprint(i), nodes))
	}
	const want = "n1 n3 n3 n1 n1 n1 n2 n2"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("owners of 0 to 7: %s, want %s", s, want)
	}
	if got := Rendezvous("x", nil); got != "" {
		t.Errorf("owner without nodes: %q", got)
	}
}

func TestCheckSubject(t *testing.T) {
	for subject, want := range map[string]bool{
		"list": true, "list.batch": true, "a.b.c-1_2": true,
		"": false, ".": false, "a.": false, ".a": false, "a..b": false, "a.*": false, "a.>": false, "A": false, "a b": false,
		strings.Repeat("x", MaxSubject): true, strings.Repeat("x", MaxSubject+1): false,
	} {
		if got := CheckSubject(subject); got != want {
			t.Errorf("CheckSubject(%q) = %v, want %v", subject, got, want)
		}
	}
}

func TestCheckName(t *testing.T) {
	for name, want := range map[string]bool{
		"node1": true, "Node_1-a": true, strings.Repeat("x", MaxName): true,
		"": false, "a.b": false, "a b": false, "a*": false, "é": false, strings.Repeat("x", MaxName+1): false,
	} {
		if err := CheckName(name); (err == nil) != want {
			t.Errorf("CheckName(%q) = %v, want valid %v", name, err, want)
		}
	}
}
