package main

import (
	"context"
	"fmt"
	"strings"
)

// soldierRounds is how many rounds each player has behind.
const soldierRounds = 60

// bfhqInfo is the request of Battlefield 2 for its own player.
const bfhqInfo = "per*,cmb*,twsc,cpcp,cacp,dfcp,kila,heal,rviv,rsup,rpar,tgte,dkas,dsab,cdsc,rank,cmsc,kick,kill,deth,suic,ospm," +
	"klpm,klpr,dtpr,bksk,wdsk,bbrs,tcdr,ban,dtpm,lbtl,osaa,vrk,tsql,tsqm,tlwf,mvks,vmks,mvn*,vmr*,fkit,fmap,fveh,fwea,wtm-,wkl-," +
	"wdt-,wac-,wkd-,vtm-,vkl-,vdt-,vkd-,vkr-,atm-,awn-,alo-,abr-,ktm-,kkl-,kdt-,kkd-"

// soldier is a player of Battlefield 2 whose page is asked for.
type soldier struct {
	filePlayer
}

// openSoldier opens a player who has played rounds.
func openSoldier(ctx context.Context, w *world, i int) (user, error) {
	s := &soldier{filePlayer{address: w.daemon.at("webservices").String(), profile: w.players[i].id}}
	for n := range soldierRounds {
		if answer, err := s.send(ctx, s.round(i, n)); err != nil || !strings.Contains(answer, "\r\n\r\nO\n") {
			return nil, fmt.Errorf("round: %.200q: %w", answer, err)
		}
	}
	s.request = fmt.Appendf(nil, "GET /ASP/getplayerinfo.aspx?pid=%s&info=%s HTTP/1.1\r\nHost: bf2web.gamespy.com\r\nConnection: close\r\n\r\n", s.profile, bfhqInfo)
	return s, nil
}

// round returns a round that player i plays alone.
func (s *soldier) round(i, n int) []byte {
	start := 1_700_000_000 + 3600*n
	var b strings.Builder
	fmt.Fprintf(&b, `load\Load\gameport\%d\mapname\kubra_dam\mapid\2\mapstart\%d.0\mapend\%d.0\win\1\gm\0\pID_0\%s\t_0\1\ctime_0\1700\rs_0\20`,
		10_000+i, start, start+1800, s.profile)
	for k := range 7 {
		fmt.Fprintf(&b, `\tk%d_0\%d\kk%d_0\3\dk%d_0\1\tv%d_0\%d\kv%d_0\1\tw%d_0\%d\kw%d_0\2\sw%d_0\90\hw%d_0\30\mvns_0\%d\mvks_0\2`, k, 100+k, k, k, k, 30+n, k, k, 50+n, k, k, k, 1000+n+k)
	}
	b.WriteString(`\EOF\1`)
	body := b.String()
	return fmt.Appendf(nil, "POST /ASP/bf2statistics.php HTTP/1.1\r\nHost: gamestats.gamespy.com\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// do is a connection with the page of the player.
func (s *soldier) do(ctx context.Context) error {
	answer, err := s.send(ctx, s.request)
	if err == nil && !strings.Contains(answer, "\r\n\r\nO\nH\tasof\n") {
		err = fmt.Errorf("answer %.200q", answer)
	}
	return err
}
