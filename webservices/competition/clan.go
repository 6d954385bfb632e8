package competition

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/respawnd/respawnd/internal/clans"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/query"
	"github.com/respawnd/respawnd/webservices/soap"
)

// clanPage is the page on which Red Alert 3 asks for the clan of a player. It has the form that
// kirov-server-emulator describes.
func (backend *Backend) clanPage() soap.Page {
	return soap.Page{
		Name: "competition.clan", Hosts: []string{"psweb.{d}"}, Path: "/clans/ClanActions.asmx/ClanInfoByProfileID",
		Serve: func(w http.ResponseWriter, r *http.Request, _ *soap.Request) { backend.serveClan(w, r) },
	}
}

// notMember is the answer about a player who is in no clan.
const notMember = "<result><resultText>NotMember: Specified profileid is not a member</resultText><resultValue>-305</resultValue></result>"

// clanTime is how the page writes times.
const clanTime = "1/2/2006 3:04:05 PM"

// serveClan answers for the player that a request names. Its login ticket is not looked at: everyone sees the
// clan of a player in the game.
func (backend *Backend) serveClan(w http.ResponseWriter, r *http.Request) {
	text := notMember
	if who, _ := query.Number(r.URL.RawQuery, "profileid"); who != 0 {
		switch m, err := clans.Of(r.Context(), backend.opt.Store, storage.ProfileID(who)); {
		case err == nil:
			text = backend.clanInfo(&m)
		case !errors.Is(err, storage.ErrNotFound):
			fault.Log(backend.opt.Log, err).Err(err).Msg("a clan cannot be read")
			http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
			return
		}
	}
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write([]byte(text)) // if it fails, the client is gone
}

// clanInfo is the answer about a member.
func (backend *Backend) clanInfo(m *clans.Member) string {
	var b bytes.Buffer
	quoted := func(s string) string {
		b.Reset()
		_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
		return b.String()
	}
	return fmt.Sprintf("<ClanInfo><result><resultText>None: No error</resultText><resultValue>0</resultValue></result><asof>%s</asof>"+
		`<clan clanid="%d" clantag="%s" clanname="%s" ArenaTeamId="%d" ArenaMemberId="%d" picid="0"><Member rank="%d"/></clan></ClanInfo>`,
		backend.opt.Now().UTC().Format(clanTime), m.Clan, quoted(m.Tag), quoted(m.Name), m.Clan, m.ID, m.Rank)
}
