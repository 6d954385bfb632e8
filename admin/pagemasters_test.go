package admin

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/operator"
)

// A master that was read in part has its problem without a number of failures.
func TestMastersPage(t *testing.T) {
	x := newSite(t, nil)
	x.l.OtherMasters = func() []operator.OtherMaster {
		return []operator.OtherMaster{{Name: "a.org", State: operator.MasterRead, Error: "the list was cut"}}
	}
	if p := x.operator(t).get("/federation"); !strings.Contains(p.body, `<strong>read</strong><br><small class="text">the list was cut</small>`) {
		t.Errorf("page of other masters:\n%s", p.body)
	}
}
