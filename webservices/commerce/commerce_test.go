package commerce

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/webservices/soap"
)

func TestServices(t *testing.T) {
	s := Services()[0]
	for method, want := range map[string]string{
		"GetStoreAvailability": "<GetStoreAvailabilityResult><status><code>0</code></status><storestatusid>100</storestatusid></GetStoreAvailabilityResult>",
		"GetPurchaseHistory":   "<GetPurchaseHistoryResult><status><code>0</code></status><orderpurchases><count>0</count></orderpurchases></GetPurchaseHistoryResult>",
	} {
		got := string(s.Methods[method](t.Context(), &soap.Request{Method: method}))
		if want = "<" + method + `Response xmlns="http://gamespy.net/commerce/">` + want + "</" + method + "Response>"; !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s in it", method, got, want)
		}
	}
}
