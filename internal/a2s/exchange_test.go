package a2s

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// take passes a packet to Take and checks the result.
func take(t *testing.T, e *Exchange, packet []byte, want Step, wantErr error) {
	t.Helper()
	if step, err := e.Take(packet); step != want || !errors.Is(err, wantErr) {
		t.Fatalf("Take(%.40q) = %d, %v; want %d, %v", packet, step, err, want, wantErr)
	}
}

// asks checks the question of an exchange.
func asks(t *testing.T, e *Exchange, request Kind, challenge uint32) {
	t.Helper()
	got, err := ParseRequest(e.Question())
	if want := (Request{request, challenge}); got != want || err != nil {
		t.Fatalf("Question() = %+v, %v, want %+v", got, err, want)
	}
}

// question is a request, the packets of its answer and their content.
type question struct {
	request Kind
	answer  [][]byte
	want    Answer
}

func questions(t testing.TB) map[string]question {
	return map[string]question{
		"info":    {InfoRequest, packetsOf(t, "dayz_info"), Answer{Kind: KindInfo, Info: documentedInfos["dayz_info"]}},
		"players": {PlayersRequest, packetsOf(t, "players"), Answer{Kind: KindPlayers, Players: documentedPlayers["players"].want}},
		"rules":   {RulesRequest, packetsOf(t, "split_source"), Answer{Kind: KindRules, Rules: fortyRules()}},
		"rules, compressed": {
			RulesRequest, packetsOf(t, "split_compressed"), Answer{Kind: KindRules, Rules: fortyRules()},
		},
		"ping": {PingRequest, packetsOf(t, "ping_source"), Answer{Kind: KindPing, Ping: PingSource}},
	}
}

// finish passes the whole answer to Take.
func (q question) finish(t *testing.T, e *Exchange) {
	t.Helper()
	for i, p := range q.answer {
		if diff := cmp.Diff(Answer{}, e.Answer()); diff != "" || e.Held() {
			t.Fatalf("an answer before the end: %s", diff)
		}
		want := Wait
		if i == len(q.answer)-1 {
			want = Done
		}
		take(t, e, p, want, nil)
	}
	if diff := cmp.Diff(q.want, e.Answer()); diff != "" || !e.Held() {
		t.Fatalf("held %v, answer (-want +got):\n%s", e.Held(), diff)
	}
	take(t, e, q.answer[0], Done, ErrForeign)
	if step := e.Expire(); step != Done {
		t.Errorf("Expire() after the end = %d", step)
	}
}

func TestServersThatAnswerAtOnce(t *testing.T) {
	for name, q := range questions(t) {
		t.Run(name, func(t *testing.T) {
			e := NewExchange(q.request, Known{})
			asks(t, e, q.request, NoChallenge)
			q.finish(t, e)
			if got := e.Challenge(); got != 0 {
				t.Errorf("Challenge() = %#x, want 0", got)
			}
		})
	}
}

func TestServersThatChallengeAnyQuestion(t *testing.T) {
	for name, q := range questions(t) {
		t.Run(name, func(t *testing.T) {
			e := NewExchange(q.request, Known{})
			take(t, e, packetOf(t, "challenge"), Ask, nil)
			asks(t, e, q.request, 0x22D5A14B)
			take(t, e, packetOf(t, "challenge"), Wait, nil) // a copy
			asks(t, e, q.request, 0x22D5A14B)
			q.finish(t, e)
			if got := e.Challenge(); got != 0x22D5A14B {
				t.Errorf("Challenge() = %#x", got)
			}
		})
	}
}

func TestQuestionsAsDocumented(t *testing.T) {
	for request, files := range map[Kind][3]string{
		InfoRequest:    {"request_info", "challenge_info", "request_info_challenged"},
		PlayersRequest: {"request_players", "challenge", "request_players_challenged"},
		RulesRequest:   {"request_rules", "challenge", "request_rules_challenged"},
	} {
		e := NewExchange(request, Known{})
		if diff := cmp.Diff(packetOf(t, files[0]), e.Question()); diff != "" {
			t.Errorf("%v, first question (-want +got):\n%s", request, diff)
		}
		take(t, e, packetOf(t, files[1]), Ask, nil)
		if diff := cmp.Diff(packetOf(t, files[2]), e.Question()); diff != "" {
			t.Errorf("%v, second question (-want +got):\n%s", request, diff)
		}
	}
}

func TestAKnownChallengeSavesAQuestion(t *testing.T) {
	for name, q := range questions(t) {
		t.Run(name, func(t *testing.T) {
			e := NewExchange(q.request, Known{Challenge: 7})
			asks(t, e, q.request, 7)
			q.finish(t, e)
		})
		t.Run(name+", refused", func(t *testing.T) {
			e := NewExchange(q.request, Known{Challenge: 7})
			take(t, e, AppendChallenge(nil, 8), Ask, nil)
			asks(t, e, q.request, 8)
			q.finish(t, e)
		})
		t.Run(name+", not answered", func(t *testing.T) {
			e := NewExchange(q.request, Known{Challenge: 7})
			if step := e.Expire(); step != Ask {
				t.Fatalf("Expire() = %d, want Ask", step)
			}
			asks(t, e, q.request, NoChallenge)
			if step := e.Expire(); step != Wait {
				t.Errorf("Expire() again = %d, want Wait", step)
			}
			take(t, e, AppendChallenge(nil, 7), Ask, nil)
			asks(t, e, q.request, 7)
			q.finish(t, e)
		})
	}
}

func TestEndlessChallengesEnd(t *testing.T) {
	for name, q := range questions(t) {
		e := NewExchange(q.request, Known{Challenge: 99})
		for c := range uint32(MaxChallenges) {
			take(t, e, AppendChallenge(nil, c), Ask, nil)
			asks(t, e, q.request, c)
		}
		for c := range uint32(5) {
			take(t, e, AppendChallenge(nil, 100+c), Wait, ErrChallenges)
			asks(t, e, q.request, MaxChallenges-1)
		}
		if step := e.Expire(); step != Wait {
			t.Errorf("%s: Expire() = %d", name, step)
		}
		q.finish(t, e) // after all
	}
}

func TestBothInfos(t *testing.T) {
	old, today := packetOf(t, "oldinfo"), packetOf(t, "info_css")
	want := Answer{Kind: KindInfo, Info: documentedInfos["info_css"]}
	for name, packets := range map[string][][]byte{
		"the old one first": {old, today},
		"a challenge after": {old, AppendChallenge(nil, 5), old, today},
		"today's alone":     {today},
		"a bad one between": {old, today[:20], today},
	} {
		e := NewExchange(InfoRequest, Known{})
		step := Wait
		for _, p := range packets {
			if step == Done {
				t.Fatalf("%s: done too early", name)
			}
			step, _ = e.Take(p)
		}
		if diff := cmp.Diff(want, e.Answer()); diff != "" || step != Done {
			t.Errorf("%s: step %d (-want +got):\n%s", name, step, diff)
		}
	}
}

func TestTheOldInfoIsTheAnswerIfNoOtherComes(t *testing.T) {
	e := NewExchange(InfoRequest, Known{})
	take(t, e, packetOf(t, "oldinfo"), Wait, nil)
	if !e.Held() || e.Answer().Kind != 0 {
		t.Errorf("held %v, answer of kind %v; want it held and not told", e.Held(), e.Answer().Kind)
	}
	asks(t, e, InfoRequest, NoChallenge)
	if step := e.Expire(); step != Done {
		t.Fatalf("Expire() = %d, want Done", step)
	}
	if diff := cmp.Diff(Answer{Kind: KindOldInfo, Old: documentedOld, Info: documentedOld.Info()}, e.Answer()); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	take(t, e, packetOf(t, "info_css"), Done, ErrForeign)
}

func TestNothingIsNoAnswer(t *testing.T) {
	for name, q := range questions(t) {
		e := NewExchange(q.request, Known{})
		if step := e.Expire(); step != Wait || e.Held() || e.Answer().Kind != 0 {
			t.Errorf("%s: Expire() = %d, held %v, kind %v", name, step, e.Held(), e.Answer().Kind)
		}
	}
}

// Games that issue challenges for a ChallengeRequest get that first and then,
// as all others, a request with -1; there is no third way.
func TestGamesWithAQuestionForTheChallenge(t *testing.T) {
	for _, app := range []App{17510, 17530, 17740, 17550, 17700} {
		for _, request := range []Kind{PlayersRequest, RulesRequest} {
			e := NewExchange(request, Known{App: app})
			asks(t, e, ChallengeRequest, NoChallenge)
			for _, want := range []Step{Ask, Wait, Wait} {
				if step := e.Expire(); step != want {
					t.Fatalf("app %d: Expire() = %d, want %d", app, step, want)
				}
				asks(t, e, request, NoChallenge)
			}
			take(t, e, packetOf(t, "challenge"), Ask, nil)
			asks(t, e, request, 0x22D5A14B)
			if step := e.Expire(); step != Wait {
				t.Errorf("app %d: Expire() with a challenge = %d, want Wait", app, step)
			}
			asks(t, NewExchange(request, Known{App: app, Challenge: 3}), request, 3)
		}
		asks(t, NewExchange(InfoRequest, Known{App: app}), InfoRequest, NoChallenge)
	}
	e := NewExchange(PlayersRequest, Known{App: AppInsurgency, Challenge: 3})
	for _, want := range []Kind{ChallengeRequest, PlayersRequest} {
		if step := e.Expire(); step != Ask {
			t.Errorf("Expire() of an old challenge = %d, want Ask", step)
		}
		asks(t, e, want, NoChallenge)
	}
	if step := e.Expire(); step != Wait {
		t.Errorf("Expire() after both ways = %d, want Wait", step)
	}
}

func TestAskingForAChallengeAlone(t *testing.T) {
	e := NewExchange(ChallengeRequest, Known{App: AppInsurgency, Challenge: 9})
	asks(t, e, ChallengeRequest, NoChallenge)
	take(t, e, []byte("\xFF\xFF\xFF\xFFA\x01"), Wait, ErrMalformed)
	asks(t, e, ChallengeRequest, NoChallenge)
	if got := e.Challenge(); got != 0 {
		t.Errorf("Challenge() before it came = %#x", got)
	}
	take(t, e, packetOf(t, "challenge"), Done, nil)
	if got := e.Challenge(); got != 0x22D5A14B || e.Answer().Kind != KindChallenge {
		t.Errorf("Challenge() = %#x, answer of kind %v", got, e.Answer().Kind)
	}
}

func TestKnownAppDecidesTheFormOfAnswers(t *testing.T) {
	e := NewExchange(PlayersRequest, Known{App: AppTheShip})
	take(t, e, packetOf(t, "players_ship"), Done, nil)
	if diff := cmp.Diff(documentedPlayers["players_ship"].want, e.Answer().Players); diff != "" {
		t.Errorf("players (-want +got):\n%s", diff)
	}

	bare := packetOf(t, "rules")[headerSize:] // no -1, so that only the game decides the form
	for known, sizeless := range map[Known]bool{
		{App: AppCSSource, Protocol: 7}: true, {App: AppCSSource, Protocol: 15}: false, {}: false,
	} {
		e := NewExchange(RulesRequest, known)
		for _, p := range split(t, Splitter{Format: Source, Size: 300, Sizeless: sizeless}, bare) {
			if _, err := e.Take(p); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(fortyRules(), e.Answer().Rules); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", known, diff)
		}
	}
}

func TestExchangeSkipsForeignPackets(t *testing.T) {
	for name, q := range questions(t) {
		t.Run(name, func(t *testing.T) {
			e := NewExchange(q.request, Known{})
			for other, o := range questions(t) {
				if o.request != q.request {
					for i, p := range o.answer {
						wantErr := ErrForeign
						if i < len(o.answer)-1 {
							wantErr = nil
						}
						if step, err := e.Take(p); step != Wait || !errors.Is(err, wantErr) {
							t.Fatalf("the answer to %s: %d, %v", other, step, err)
						}
					}
				}
			}
			for packet, want := range map[string]error{
				"": ErrForeign, "\xFE\xFD\x00\x00\x00\x00\x07": ErrForeign, "\\final\\": ErrForeign,
				"\xFF\xFF\xFF\xFFl": ErrForeign, "\xFF\xFF\xFF\xFFA": ErrMalformed, "\xFE\xFF\xFF\xFF": ErrMalformed,
				"\xFF\xFF\xFF\xFF": ErrMalformed, string(e.Question()): ErrForeign,
			} {
				take(t, e, []byte(packet), Wait, want)
			}
			if q.request != PingRequest { // which cannot be truncated
				take(t, e, slices.Concat(single, []byte{byte(q.want.Kind)}), Wait, ErrMalformed)
			}
			q.finish(t, e)
		})
	}
}

func TestTooManyRulesAreAnError(t *testing.T) {
	e := NewExchange(RulesRequest, Known{})
	take(t, e, AppendRules(nil, Rules{Count: MaxRules + 1, List: make([]Rule, MaxRules+1)}), Wait, ErrTooMuch)
	wrong := compressed(7, 0, compressedRules(t))
	take(t, e, wrong, Wait, ErrChecksum)
}

// Every packet is delivered to its own copy of the exchange with all that came
// before, so that no state is left out.
func TestExchangesGoOnAfterLostPackets(t *testing.T) {
	for name, q := range questions(t) {
		for lost := range q.answer {
			e := NewExchange(q.request, Known{})
			for i, p := range q.answer {
				if i != lost {
					take(t, e, p, Wait, nil)
				}
			}
			if step := e.Expire(); step != Wait {
				t.Fatalf("%s without packet %d: Expire() = %d", name, lost, step)
			}
			step := Wait
			for i, p := range q.answer { // the question is repeated; ids are not
				p = slices.Clone(p)
				if len(q.answer) > 1 {
					p[4]++
				}
				var err error
				if step, err = e.Take(p); err != nil {
					t.Fatalf("%s: packet %d of the second answer: %v", name, i, err)
				}
			}
			if diff := cmp.Diff(q.want, e.Answer()); diff != "" || step != Done {
				t.Errorf("%s without packet %d: step %d (-want +got):\n%s", name, lost, step, diff)
			}
		}
	}
}

func BenchmarkExchange(b *testing.B) {
	challenge, answer := packetOf(b, "challenge"), packetOf(b, "dayz_info")
	b.ReportAllocs()
	for b.Loop() {
		e := NewExchange(InfoRequest, Known{})
		e.Question()
		if step, err := e.Take(challenge); step != Ask {
			b.Fatal(step, err)
		}
		e.Question()
		if step, err := e.Take(answer); step != Done {
			b.Fatal(step, err)
		}
	}
}
