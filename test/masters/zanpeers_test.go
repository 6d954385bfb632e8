package masters

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/test/rig"
)

// zanRecords returns the Zandronum servers of the public JSON by address.
func zanRecords(t testing.TB, d *rig.Running) map[string]rig.ZanRecord {
	t.Helper()
	code, body := rig.Get(t, d, "web", http.MethodGet, "/api/v1/servers?game="+zandronum.Game+"&full=1", "")
	var answer struct{ Servers []rig.ZanRecord }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != http.StatusOK {
		t.Fatalf("GET /api/v1/servers: status %d, %v:\n%.500s", code, err, body)
	}
	records := make(map[string]rig.ZanRecord)
	for _, r := range answer.Servers {
		records[r.Address] = r
	}
	return records
}
