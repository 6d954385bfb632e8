package operations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

type accountFlags struct {
	partner, namespace int
	game               string // whose namespace and partner code are used; empty: those of the flags
}

// settle sets namespace and partner code from the game, if one is named.
func (f *accountFlags) settle(ctx context.Context, op operator.Conn) error {
	if f.game == "" {
		return nil
	}
	list, err := operator.ListGames.Call(ctx, op, operator.None{})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(g games.Game) bool { return ascii.EqualFold(g.Name, f.game) })
	if i < 0 {
		return fmt.Errorf("--game: there is no game %s", cli.Printable(f.game))
	}
	f.namespace, f.partner = list[i].UniqueNicks(), list[i].Partner
	return nil
}

func accountCommand(con *cli.Console) *cobra.Command {
	const short = "Manage accounts of players"
	f := new(accountFlags)
	account := cli.Group("account", short,
		accountCreate(con, f), accountList(con), accountShow(con, f), accountPasswd(con, f), accountResetLink(con, f),
		accountExport(con), accountImport(con),
		onAccount(con, f, operator.BanAccount, func(in *operator.NewAccountBan) *storage.UserID { return &in.ID },
			func(in operator.NewAccountBan, _ operator.Done, account string) error {
				return con.Say("banned %s until %s", account, cli.Until(in.Expires))
			}),
		onAccount(con, f, operator.UnbanAccount, ofAccount, func(_ operator.AccountID, _ operator.Done, account string) error {
			return con.Say("%s is not banned", account)
		}),
		onAccount(con, f, operator.DeleteAccount, ofAccount, func(_ operator.AccountID, _ operator.Removed, account string) error {
			return con.Say("deleted %s", account)
		}),
		cli.Command(con, operator.RotateAccountKey, func(_ operator.None, out operator.Done) error {
			return con.Say("sealed %d accounts with a new key; backups from before hold the old one", out.Done)
		}))
	account.Long = short + ".\n\nAn account is named by its e-mail, by a unique nick or by its number. Passwords\n" +
		"are only read from standard input, never from arguments."
	account.PersistentFlags().IntVar(&f.partner, "partner", 0, "partner code; 0 for nearly every game")
	account.PersistentFlags().IntVar(&f.namespace, "namespace", 1, "namespace of unique nicks; 1 for nearly every game")
	account.PersistentFlags().StringVar(&f.game, "game", "", "game whose namespace and partner code to use, instead of --namespace and --partner")
	return account
}

func (f *accountFlags) find(ctx context.Context, op operator.Conn, name string) (accounts.Account, error) {
	if err := f.settle(ctx, op); err != nil {
		return accounts.Account{}, err
	}
	ref := operator.AccountRef{Partner: f.partner, Namespace: f.namespace}
	id, err := strconv.ParseUint(name, 10, 31)
	switch {
	case err == nil && id > 0:
		ref.ID = storage.UserID(id)
	case strings.Contains(name, "@"):
		ref.Email = name
	default:
		ref.UniqueNick = name
	}
	a, err := operator.FindAccount.Call(ctx, op, ref)
	if errors.Is(err, storage.ErrNotFound) {
		return a, fmt.Errorf("%s: no such account%s: %w", name, elsewhere(ctx, op, ref), err)
	}
	return a, err
}

// elsewhere names the namespaces that have the unique nick of an account that was not
// found, "" if there is none.
func elsewhere(ctx context.Context, op operator.Conn, ref operator.AccountRef) string {
	if ref.UniqueNick == "" {
		return ""
	}
	var found []string
	for q := (operator.AccountQuery{Match: ref.UniqueNick}); ; {
		page, err := operator.ListAccounts.Call(ctx, op, q)
		for i := range page.Accounts {
			for _, p := range page.Accounts[i].Profiles {
				for _, n := range p.Profile.UniqueNicks {
					if storage.Fold(n.Nick) == storage.Fold(ref.UniqueNick) {
						found = append(found, fmt.Sprintf("--namespace %d", n.Namespace))
					}
				}
			}
		}
		if q.After = page.Next; err != nil || q.After == 0 {
			break
		}
	}
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf(" in namespace %d; another one has it: %s", ref.Namespace, strings.Join(found, " or "))
}

// onAccount returns the command of an operation on the account that the argument names, of which id
// is the number in its input. say ends with the number and the e-mail of the account.
func onAccount[In, Out any](con *cli.Console, f *accountFlags, o *operator.Op[In, Out], id func(*In) *storage.UserID,
	say func(in In, out Out, account string) error,
) *cobra.Command {
	account := ""
	return cli.Looking(con, o, func(ctx context.Context, c operator.Conn, in *In, args []string) error {
		a, err := f.find(ctx, c, args[0])
		*id(in), account = a.ID, fmt.Sprintf("account %d (%s)", a.ID, a.Email)
		return err
	}, func(in In, out Out) error { return say(in, out, account) })
}

// ofAccount is the number of an account in the input of an operation that needs no other.
func ofAccount(in *operator.AccountID) *storage.UserID { return &in.ID }

// passwordFlag adds --password-stdin to a command.
func passwordFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("password-stdin", false, "read the password from standard input")
}

// maxPasswordLine is the maximum number of bytes read for a password, far more
// than a password may have.
const maxPasswordLine = 1024

var errNoPassword = errors.New("no password: give --password-stdin and the password on standard input")

// readPassword reads a password from standard input, or asks for it if that is
// a terminal.
func readPassword(con *cli.Console, stdin bool) (string, error) {
	if f, ok := con.In.(*os.File); ok && !stdin && term.IsTerminal(int(f.Fd())) {
		return askPassword(con, f)
	}
	if !stdin {
		return "", cli.Misused(errNoPassword)
	}
	b, err := io.ReadAll(io.LimitReader(con.In, maxPasswordLine+1))
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if len(b) > maxPasswordLine {
		return "", errors.New("the password on standard input is too long")
	}
	line, rest, _ := strings.Cut(string(b), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" || strings.TrimSpace(rest) != "" {
		return "", errors.New("standard input must be the password, on one line")
	}
	return line, nil
}

// askPassword asks for a password twice without showing it.
func askPassword(con *cli.Console, f *os.File) (string, error) {
	var typed [2]string
	for i, prompt := range []string{"Password: ", "Again: "} {
		if _, err := fmt.Fprint(con.Err, prompt); err != nil {
			return "", err
		}
		b, err := term.ReadPassword(int(f.Fd()))
		_, _ = fmt.Fprintln(con.Err) // the line end was not shown either
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		typed[i] = string(b)
	}
	if typed[0] != typed[1] {
		return "", errors.New("the two passwords are not the same")
	}
	return typed[0], nil
}

func accountCreate(con *cli.Console, f *accountFlags) *cobra.Command {
	in := new(operator.NewAccount)
	cmd := cli.CommandOf(con, &operator.CreateAccount.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		if err := f.settle(ctx, c); err != nil {
			return err
		}
		in.Partner, in.Namespace = f.partner, f.namespace
		made, err := operator.CreateAccount.Call(ctx, c, *in)
		return con.Confirm(err, "created profile %d (%s) of account %d (%s)", made.ID, cli.Printable(made.Nick), made.User, in.Email)
	})
	cmd.Use = "create --email E --nick N [--uniquenick U] --password-stdin"
	stdin := passwordFlag(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) (err error) {
		if in.Email == "" || in.Nick == "" {
			return cli.Misused(errors.New("--email and --nick are needed"))
		}
		if in.UniqueNick != "" && f.namespace == 0 && f.game == "" {
			return cli.Misused(errors.New("--uniquenick: namespace 0 has no unique nicks"))
		}
		in.Password, err = readPassword(con, *stdin)
		return err
	}
	return cmd
}

func accountList(con *cli.Console) *cobra.Command {
	q := new(operator.AccountQuery)
	return cli.Showing(con, &operator.ListAccounts.Operation, q, func(ctx context.Context, c operator.Conn, _ []string) error {
		return listAccounts(ctx, con, c, *q)
	})
}

func listAccounts(ctx context.Context, con *cli.Console, op operator.Conn, q operator.AccountQuery) error {
	var all []accounts.Account
	leftOut := 0
	for {
		page, err := operator.ListAccounts.Call(ctx, op, q)
		if err != nil {
			return err
		}
		all = append(all, page.Accounts...)
		leftOut += page.LeftOut
		if q.After = page.Next; q.After == 0 {
			break
		}
	}
	if err := cli.Show(con, "id\tpartner\te-mail…\tnicks…\tcreated\tbanned", all, func(a accounts.Account) []string {
		return []string{strconv.Itoa(int(a.ID)), strconv.Itoa(a.Partner), a.Email, cli.Dash(nicks(&a)), cli.Stamp(a.Created), banned(a.Ban)}
	}); err != nil {
		return err
	}
	return someLeftOut(leftOut)
}

// someLeftOut is the error of a command that could not read all accounts.
func someLeftOut(n int) error {
	if n > 0 {
		return fmt.Errorf("%d accounts are damaged and left out", n)
	}
	return nil
}

// nicks returns the nicks of an account, each with its unique nicks.
func nicks(a *accounts.Account) string {
	var out []string
	for i := range a.Profiles {
		p := &a.Profiles[i].Profile
		words := []string{p.Nick}
		for _, n := range p.UniqueNicks {
			words = append(words, fmt.Sprintf("(%s in %d)", n.Nick, n.Namespace))
		}
		out = append(out, strings.Join(words, " "))
	}
	return strings.Join(out, ", ")
}

// banned returns the end of an account's ban, "-" if it is not banned.
func banned(b storage.AccountBan) string {
	if !b.In(time.Now()) {
		return "-"
	}
	return "until " + cli.Until(b.Expires)
}

// passwordState returns in words whether the password itself is kept.
func passwordState(kept bool) string {
	if kept {
		return "kept, statistics accept it"
	}
	return "only its digest is kept, statistics refuse it; kept at the next sign-in on /account or by account passwd"
}

func accountShow(con *cli.Console, f *accountFlags) *cobra.Command {
	cmd := cli.Showing(con, &operator.FindAccount.Operation, new(operator.AccountRef),
		func(ctx context.Context, c operator.Conn, args []string) error {
			a, err := f.find(ctx, c, args[0])
			if err != nil {
				return err
			}
			if con.JSON {
				return con.PrintObject(a)
			}
			ban := banned(a.Ban)
			if ban != "-" && a.Ban.Reason != "" {
				ban += " (" + cli.Printable(a.Ban.Reason) + ")"
			}
			rows := [][]string{
				{"account", strconv.Itoa(int(a.ID))},
				{"e-mail", a.Email},
				{"partner", strconv.Itoa(a.Partner)},
				{"created", cli.Stamp(a.Created)},
				{"banned", ban},
				{"password", passwordState(a.Kept)},
			}
			for i := range a.Profiles {
				rows = append(rows, profileRows(&a.Profiles[i])...)
			}
			return con.Table("what\tvalue…", rows)
		})
	cmd.Use, cmd.Args = "show EMAIL|UNIQUENICK|ID", cli.Usage(cobra.ExactArgs(1))
	return cmd
}

// profileRows are the lines about one profile.
func profileRows(p *accounts.AccountProfile) [][]string {
	rows := [][]string{
		{"profile", strconv.Itoa(int(p.Profile.ID))}, {"  nick", cli.Dash(p.Profile.Nick)}, {"  created", cli.Stamp(p.Profile.Created)},
	}
	for _, n := range p.Profile.UniqueNicks {
		rows = append(rows, []string{"  unique nick", fmt.Sprintf("%s in namespace %d", n.Nick, n.Namespace)})
	}
	for _, k := range p.Profile.CDKeys {
		rows = append(rows, []string{"  CD key", fmt.Sprintf("of %s since %s", cli.Printable(k.Game), cli.Stamp(k.Added))})
	}
	for _, f := range []struct{ name, value string }{
		{"first name", p.Profile.FirstName}, {"last name", p.Profile.LastName}, {"place", p.Profile.Place}, {"country", p.Profile.Country},
	} {
		if f.value != "" {
			rows = append(rows, []string{"  " + f.name, cli.Printable(f.value)})
		}
	}
	return append(rows, []string{"  buddies", idList(p.Buddies)}, []string{"  blocks", idList(p.Blocks)})
}

func idList(ids []storage.ProfileID) string {
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		out = append(out, strconv.Itoa(int(id)))
	}
	return cli.Dash(strings.Join(out, " "))
}

func accountPasswd(con *cli.Console, f *accountFlags) *cobra.Command {
	password := ""
	cmd := onAccount(con, f, operator.SetPassword, func(in *operator.NewPassword) *storage.UserID { in.Password = password; return &in.ID },
		func(_ operator.NewPassword, _ operator.Done, account string) error {
			return con.Say("changed the password of %s", account)
		})
	stdin := passwordFlag(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) (err error) { // before the store is opened: typing takes long
		password, err = readPassword(con, *stdin)
		return err
	}
	return cmd
}

func accountResetLink(con *cli.Console, f *accountFlags) *cobra.Command {
	return con.JSONFlag(onAccount(con, f, operator.IssueReset, ofAccount,
		func(_ operator.AccountID, r operator.ResetLink, account string) error {
			if con.JSON {
				return con.PrintObject(r)
			}
			hint := ""
			if strings.HasPrefix(r.Link, "/") {
				hint = "\nweb.public_url is not set: put the address of your pages before the path"
			}
			return con.Say("%s\nfor %s, once, until %s; an earlier link has ended%s", r.Link, account, cli.Stamp(r.Expires), hint)
		}))
}
