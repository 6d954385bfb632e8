package competition

import (
	"context"
	"net/netip"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// banned is a Verifier that finds every account banned.
type banned struct{}

// Verify implements Verifier.
func (banned) Verify(context.Context, *soap.Element, string, netip.Addr) (storage.ProfileID, error) {
	return 0, accounts.ErrBanned
}

func TestVerdicts(t *testing.T) {
	from := netip.MustParseAddrPort("192.0.2.1:1024")
	for name, test := range map[string]struct {
		method      string
		proof       string
		verifier    Verifier
		attachments [][]byte
		verdict     verdicts.Verdict
		detail      string
	}{
		"wrong proof":    {"CreateSession", "bad", verifier{}, nil, verdicts.BadCertificate, "wrong proof"},
		"banned":         {"CreateSession", "good", banned{}, nil, verdicts.AccountBanned, ""},
		"no session":     {"SetReportIntention", "good", verifier{}, nil, verdicts.MatchRefused, errNoSession.Error()},
		"no report":      {"SubmitReport", "good", verifier{}, nil, verdicts.MatchRefused, errAttachments.Error()},
		"invalid report": {"SubmitReport", "good", verifier{}, [][]byte{{1}}, verdicts.MatchRefused, errReport.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			log := verdicts.NewLog(zerolog.Nop(), 0)
			w := newWorld(t, func(o *Options) { o.Name, o.Verdicts, o.Verifier = "webservices", log, test.verifier })
			body := &soap.Element{Name: test.method, Children: []*soap.Element{
				{Name: "certificate", Children: []*soap.Element{{Name: "profileid", Value: "1"}}}, {Name: "proof", Value: test.proof},
			}}
			w.send(&soap.Request{Method: test.method, Game: "gmtest", From: from, Body: body, Attachments: test.attachments})
			list := log.Of(from.Addr())
			if len(list) != 1 || list[0].Verdict != test.verdict || list[0].Detail != test.detail || list[0].Game != "gmtest" {
				t.Errorf("entries %+v, want %v with %q", list, test.verdict, test.detail)
			}
		})
	}
}
