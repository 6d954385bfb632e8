// Package commerce answers the stores of games, which do not exist here: a game
// learns that its store is not launched, and that the player has bought nothing.
//
// The replies are
//
//	GetStoreAvailability: status/code 0, storestatusid 100 (10: online, 20: maintenance, 50: retired, 100: not launched)
//	GetPurchaseHistory:   status/code 0, orderpurchases/count 0
//
// Nothing of a request is read.
package commerce

import (
	"context"

	"github.com/respawnd/respawnd/webservices/soap"
)

const (
	// Namespace is the one of the methods.
	Namespace = "http://gamespy.net/commerce/"
	// Path is where they are.
	Path = "/CommerceService.asmx"

	notLaunched = 100
	maxBody     = 64 << 10
)

// Services returns the methods.
func Services() []soap.Service {
	return []soap.Service{{
		Name: "commerce", Hosts: []string{"{g}.comm.pubsvs.{d}", soap.APIHost}, Path: Path, Namespace: Namespace, MaxBody: maxBody,
		Methods: map[string]soap.Handler{
			"GetStoreAvailability": result(func(w *soap.Writer) { w.Int("storestatusid", notLaunched) }),
			"GetPurchaseHistory": result(func(w *soap.Writer) {
				w.Open("orderpurchases")
				w.Int("count", 0)
				w.Close()
			}),
		},
	}}
}

// result returns the handler of a method whose result is a status of 0 and the output of fill.
func result(fill func(*soap.Writer)) soap.Handler {
	return func(_ context.Context, q *soap.Request) []byte {
		return soap.Reply(q.Method, Namespace, func(w *soap.Writer) {
			w.Open(q.Method + "Result")
			w.Open("status")
			w.Int("code", 0)
			w.Close()
			fill(w)
			w.Close()
		})
	}
}
