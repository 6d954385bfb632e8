package operations

import "testing"

func TestParseMembers(t *testing.T) {
	t.Parallel()
	got, err := parseMembers([]string{"n1=10.0.0.1", "n2=[2001:db8::1]:77", "n3=2001:db8::2", "n-4=host.example.org:6223"})
	want := []string{"10.0.0.1:6222", "[2001:db8::1]:77", "[2001:db8::2]:6222", "host.example.org:6223"}
	if err != nil || len(got) != len(want) {
		t.Fatalf("parseMembers() = %v, %v", got, err)
	}
	for i, m := range got {
		if m.address() != want[i] {
			t.Errorf("address of %s: %s, want %s", m.name, m.address(), want[i])
		}
	}
	for _, bad := range [][]string{
		{"n1"},
		{"n1="},
		{"=10.0.0.1"},
		{"a b=10.0.0.1"},
		{"../x=10.0.0.1"},
		{"authority=10.0.0.1"},
		{"n1=h", "n1=g"},
		{"n1=a\"b"},
		{"n1=a b"},
		{"n1=h:70000"},
		{"n1=h:x"},
		{"n1=a,b"},
	} {
		if got, err := parseMembers(bad); err == nil {
			t.Errorf("parseMembers(%q) = %v, want an error", bad, got)
		}
	}
}
