package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/gstats"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices"
)

// so returns facts that hold.
func so(texts ...string) []Fact {
	var list []Fact
	for _, text := range texts {
		list = append(list, Fact{Text: text})
	}
	return list
}

// notSo returns facts that do not hold.
func notSo(texts ...string) []Fact {
	list := so(texts...)
	for i := range list {
		list[i].not = true
	}
	return list
}

// everySecond makes a change and, for every second name, reverts it. The
// acknowledgement is that of the last step.
func everySecond(name string, change, back func() error, now []Fact, after []Fact) ([]Fact, error) {
	if err := change(); err != nil {
		return nil, err
	}
	if last := name[len(name)-1]; last%2 == 0 {
		return now, nil
	}
	return after, back()
}

// stormOperators write through the admin API.
func stormOperators() []StormWriter {
	return []StormWriter{
		{"bans", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			p := netip.PrefixFrom(stormAddress(name), 32)
			return everySecond(name,
				func() error {
					return operator.AddBan.Exec(ctx, s.Op, operator.NewBan{Prefix: p, Scope: storage.ScopeAll, Reason: name})
				},
				func() error {
					_, err := operator.RemoveBan.Call(ctx, s.Op, operator.BanRef{Prefix: p, Scope: storage.ScopeAll})
					return err
				},
				so("ban "+p.String(), "audit ban.add "+p.String()+" (all)"), notSo("ban "+p.String()))
		}},
		{"games", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			return everySecond(name,
				func() error {
					return operator.PutGames.Exec(ctx, s.Op, []games.Game{{Name: name, Title: name, Secrets: []string{"abcdef"}}})
				},
				func() error { return operator.DeleteGame.Exec(ctx, s.Op, operator.GameRef{Game: name}) },
				so("game "+name, "audit game.put "+name), notSo("game "+name))
		}},
		{"rooms", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			var room storage.Room
			return everySecond(name,
				func() (err error) {
					room, err = operator.PutRoom.Call(ctx, s.Op, operator.NewRoom{Game: TestGame, Name: name})
					return err
				},
				func() error { return operator.DeleteRoom.Exec(ctx, s.Op, operator.RoomRef{ID: room.ID}) },
				so("room "+name), notSo("room "+name))
		}},
		{"added servers", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			address := netip.AddrPortFrom(stormAddress(name), 27015).String()
			add := func() error {
				return operator.AddServer.Exec(ctx, s.Op, operator.NewServer{Address: address, Protocol: "a2s"})
			}
			remove := func() error {
				_, err := operator.RemoveServer.Call(ctx, s.Op, operator.ServerRef{Address: address})
				return err
			}
			if err := add(); err != nil { // not many: there is a limit
				return nil, err
			}
			if strings.HasSuffix(name, "n0") {
				return so("added "+address, "audit server.add "+address), nil
			}
			return notSo("added " + address), remove()
		}},
		{"hidden servers", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			address := netip.AddrPortFrom(stormAddress(name), 27015)
			return everySecond(name,
				func() error {
					return operator.HideServer.Exec(ctx, s.Op, operator.NewHidden{Address: address, Reason: name})
				},
				func() error { return operator.UnhideServer.Exec(ctx, s.Op, operator.HiddenRef{Address: address}) },
				so("hidden "+address.String()), notSo("hidden "+address.String()))
		}},
		{"accounts made by the operator", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			p, err := s.newAccount(ctx, name)
			if err != nil {
				return nil, err
			}
			email := name + "@example.com"
			switch name[len(name)-1] % 4 {
			case 0:
				return so("account "+email, "uniquenick "+name, "password "+name+" "+StormPassword), nil
			case 1:
				return notSo("account "+email, "uniquenick "+name), operator.DeleteAccount.Exec(ctx, s.Op, operator.AccountID{ID: p.User})
			case 2:
				return so("banned " + email), operator.BanAccount.Exec(ctx, s.Op, operator.NewAccountBan{ID: p.User, Reason: "storm"})
			default:
				other := "another " + name
				return append(so("password "+name+" "+other), notSo("password "+name+" "+StormPassword)...), operator.SetPassword.Exec(ctx, s.Op, operator.NewPassword{ID: p.User, Password: other})
			}
		}},
		{"imports", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			var list []accounts.Account
			var facts []Fact
			for _, who := range []string{name + "a", name + "b", name + "c"} {
				list = append(list, accounts.Account{
					Email: who + "@example.com", Password: StormPassword,
					Profiles: []accounts.AccountProfile{{Profile: storage.Profile{Nick: who}}, {Profile: storage.Profile{Nick: who + "2"}}},
				})
				facts = append(facts, so("nick "+who+"@example.com "+who, "nick "+who+"@example.com "+who+"2", "password "+who+" "+StormPassword)...)
			}
			all, err := operator.ImportAccounts.Call(ctx, s.Op, operator.AccountImport{Accounts: list})
			for _, a := range all {
				if a.Error != "" {
					err = errors.Join(err, errors.New(a.Error))
				}
			}
			return facts, err
		}},
		{"the sealing key", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			if _, err := operator.RotateAccountKey.Call(ctx, s.Op, operator.None{}); err != nil {
				return nil, err
			}
			_, err := s.newAccount(ctx, name)
			return so("password " + name + " " + StormPassword), err
		}},
	}
}

// asPlayer makes an account, signs in to it, does something and hangs up.
func (s *Storm) asPlayer(ctx context.Context, name string, do func(p *Player) ([]Fact, error)) ([]Fact, error) {
	if NewUser(ctx, s.At["gpsp"], name) == "" {
		return nil, errors.New("no account")
	}
	p, err := Enter(ctx, s.At["gpcm"], name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	return do(p)
}

// asks sends a command and waits for its answer, which must begin like that.
func (p *Player) asks(command, answer string) error {
	if err := p.MustSend(command + `\id\7` + gamespy.Final); err != nil {
		return err
	}
	_, err := p.Expect(answer)
	return err
}

// GameUserRequest creates an account as a game does in the presence service.
func GameUserRequest(name string) string {
	return fmt.Sprintf(
		`\newuser\\email\%s@example.com\nick\%s\passwordenc\%s\productid\11\gamename\%s\namespaceid\1\uniquenick\%s\id\7\final\`,
		name, name, gamespy.EncodePassword(StormPassword), TestGame, name)
}

// stormPlayers write through the services of presence.
func stormPlayers() []StormWriter {
	return []StormWriter{
		{"accounts made in search", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			if NewUser(ctx, s.At["gpsp"], name) == "" {
				return nil, errors.New("no account")
			}
			return so("account "+name+"@example.com", "uniquenick "+name, "password "+name+" "+StormPassword), nil
		}},
		{"accounts made in presence", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			p, err := Meet(ctx, s.At["gpcm"])
			if err != nil {
				return nil, err
			}
			defer func() { _ = p.Close() }()
			if err := p.MustSend(GameUserRequest(name)); err != nil {
				return nil, err
			}
			_, err = p.Expect(`\nur\`)
			return so("account "+name+"@example.com", "uniquenick "+name, "password "+name+" "+StormPassword), err
		}},
		{"profiles", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			return s.asPlayer(ctx, name, func(p *Player) ([]Fact, error) {
				return so("firstname " + p.Profile + " first" + name), p.CarriesOut(`\updatepro\\sesskey\$K\firstname\first` + name)
			})
		}},
		{"passwords", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			return s.asPlayer(ctx, name, func(p *Player) ([]Fact, error) {
				return so("password " + name + " other" + name),
					p.CarriesOut(`\updateui\\sesskey\$K\passwordenc\` + gamespy.EncodePassword("other"+name))
			})
		}},
		{"further profiles", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			return s.asPlayer(ctx, name, func(p *Player) ([]Fact, error) {
				return so("nick " + name + "@example.com " + name + "2"), p.asks(`\newprofile\\sesskey\$K\nick\`+name+`2`, `\npr\`)
			})
		}},
		{"deleted profiles", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			return s.asPlayer(ctx, name, func(p *Player) ([]Fact, error) {
				if err := p.asks(`\newprofile\\sesskey\$K\nick\`+name+`2`, `\npr\`); err != nil {
					return nil, err
				}
				facts := append(notSo("nick "+name+"@example.com "+name, "uniquenick "+name), so("nick "+name+"@example.com "+name+"2")...)
				return facts, p.asks(`\delprofile\\sesskey\$K`, `\dpr\1`)
			})
		}},
		{"unique nicks", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			return s.asPlayer(ctx, name, func(p *Player) ([]Fact, error) {
				return so("uniquenick " + name + "u"), p.asks(`\registernick\\sesskey\$K\uniquenick\`+name+`u`, `\rn\`)
			})
		}},
		{"CD keys", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			return s.asPlayer(ctx, name, func(p *Player) ([]Fact, error) {
				return so("cdkey " + name), p.asks(`\registercdkey\\sesskey\$K\cdkeyenc\`+gamespy.EncodePassword(name), `\rc\`)
			})
		}},
		{"blocks", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			return s.asPlayer(ctx, name, func(p *Player) ([]Fact, error) {
				block := so("block " + p.Profile + " 1")
				return everySecond(name,
					func() error { return p.CarriesOut(`\addblock\\sesskey\$K\profileid\1`) },
					func() error { return p.CarriesOut(`\removeblock\\sesskey\$K\profileid\1`) },
					block, notSo(block[0].Text))
			})
		}},
	}
}

// stormGames write what games keep for their players.
func stormGames() []StormWriter {
	return []StormWriter{
		{"messages", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			return s.asPlayer(ctx, name, func(p *Player) ([]Fact, error) {
				friend := name + "f"
				id, err := s.newFriend(ctx, p, friend)
				if err != nil {
					return nil, err
				}
				return so("message " + friend + " hello " + name), p.CarriesOut(`\bm\1\sesskey\$K\t\` + id + `\msg\hello ` + name)
			})
		}},
		{"SAKE records", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			return s.asPlayer(ctx, name, func(p *Player) ([]Fact, error) {
				title, err := storage.ParseSakeValue(storage.SakeUnicode, name)
				if err != nil {
					return nil, err
				}
				sake := webservices.Storage{
					Client: webservices.Client{Address: s.At["webservices"].String(), Host: TestGame + ".sake.gamespy.com"},
					Secret: TestSecret, Ticket: p.Ticket,
				}
				id, err := sake.Create(netclient.Bound(ctx, Hang), StormTable, storage.SakeField{Name: "title", Value: title})
				return so(fmt.Sprintf("sake %d %s", id, name)), err
			})
		}},
		{"statistics", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			return s.asPlayer(ctx, name, func(p *Player) ([]Fact, error) {
				data := []byte(`\score\` + name)
				return so("statistics " + p.Profile + " " + string(data)), s.setStatistics(netclient.Bound(ctx, Hang), p, data)
			})
		}},
	}
}

// StormTable is the table of the SAKE records of a storm.
const StormTable = "storm"

// newFriend makes an account that agrees to be the player's buddy and leaves.
func (s *Storm) newFriend(ctx context.Context, p *Player, name string) (id string, err error) {
	if id = NewUser(ctx, s.At["gpsp"], name); id == "" {
		return "", errors.New("no account")
	}
	if err := p.CarriesOut(`\addbuddy\\sesskey\$K\newprofileid\` + id + `\reason\storm`); err != nil {
		return "", err
	}
	friend, err := Enter(ctx, s.At["gpcm"], name)
	if err != nil {
		return "", err
	}
	defer func() { _ = friend.Close() }()
	if err := friend.Agrees(); err != nil {
		return "", err
	}
	return id, friend.MustLeave()
}

// Agrees waits for a buddy request, and agrees to it.
func (p *Player) Agrees() error {
	request, err := p.Expect(`\bm\2\f\`)
	if err != nil {
		return err
	}
	_, signature, _ := strings.Cut(strings.TrimSuffix(request, gamespy.Final), "|signed|")
	return p.CarriesOut(`\authadd\\sesskey\$K\fromprofileid\` + Field(request, "f") + `\sig\` + signature)
}

// setStatistics stores data of a player as its game does.
func (s *Storm) setStatistics(ctx context.Context, p *Player, data []byte) error {
	conn, err := netclient.DialTCP(ctx, s.At["gstats"].String())
	if err != nil {
		return err
	}
	game, err := gstats.Connect(ctx, conn)
	if err != nil {
		return err
	}
	defer func() { _ = game.Close() }()
	id, err := strconv.ParseUint(p.Profile, 10, 32)
	if err != nil {
		return err
	}
	profile := storage.ProfileID(id)
	if err = game.Authenticate(ctx, TestGame, TestSecret); err == nil {
		err = game.AuthenticatePlayer(ctx, profile, StormPassword)
	}
	if err == nil {
		_, err = game.Set(ctx, profile, 1, 0, false, data)
	}
	return err
}

// stormVisitors write through the pages for players.
func stormVisitors() []StormWriter {
	return []StormWriter{
		{"the account page", func(ctx context.Context, s *Storm, name string) ([]Fact, error) {
			jar, err := cookiejar.New(nil)
			if err != nil {
				return nil, err
			}
			v := &stormVisitor{base: "http://" + s.At["web"].String(), client: &http.Client{
				Jar: jar, Timeout: Hang, Transport: &http.Transport{DisableKeepAlives: true},
			}}
			email, other := name+"@example.com", "other "+name
			err = v.fillIn(ctx, "/account/register", "Your account", "/account/register", "email", email, "nick", name, "uniquenick", name, "new", StormPassword, "repeat", StormPassword)
			if err != nil {
				return nil, err
			}
			switch name[len(name)-1] % 3 {
			case 0:
				return so("account "+email, "uniquenick "+name, "password "+name+" "+StormPassword), nil
			case 1:
				return so("password " + name + " " + other),
					v.fillIn(ctx, "/account", "The password was changed.", "/account/password", "password", StormPassword, "new", other, "repeat", other)
			default:
				return notSo("account "+email, "uniquenick "+name),
					v.fillIn(ctx, "/account", "The account was deleted.", "/account/delete", "password", StormPassword, "sure", "1")
			}
		}},
	}
}

// stormVisitor is a browser that may lose its daemon at any moment.
type stormVisitor struct {
	base   string
	client *http.Client
}

// Do makes a request and returns the page.
func (v *stormVisitor) Do(ctx context.Context, method, path, body string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, Hang)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, v.base+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", v.base)
	}
	answer, err := v.client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	page, err := io.ReadAll(answer.Body)
	return string(page), err
}

// fillIn opens a page and sends one of its forms, which must lead to a page with
// a text in it.
func (v *stormVisitor) fillIn(ctx context.Context, page, want, path string, fields ...string) error {
	text, err := v.Do(ctx, http.MethodGet, page, "")
	if err != nil {
		return err
	}
	m := FormToken.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%w: no form on %s:\n%s", ErrUnexpected, page, text)
	}
	form := url.Values{"token": {m[1]}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	if text, err = v.Do(ctx, http.MethodPost, path, form.Encode()); err == nil && !strings.Contains(text, want) {
		err = fmt.Errorf("%w: %s leads to\n%s", ErrUnexpected, path, text)
	}
	return err
}
