@echo off
rem Leads the game {{.Game}} to {{.Address}}: adds its names to the hosts file.
rem
rem   hosts-{{.Game}}.bat        adds them, or replaces those of an earlier run
rem   hosts-{{.Game}}.bat undo   removes them
rem
rem Click it with the right mouse button and choose "Run as administrator".
setlocal
if not defined HOSTS set "HOSTS=%SystemRoot%\System32\drivers\etc\hosts"
set "KEPT=%TEMP%\respawnd-hosts-%RANDOM%.txt"
if "%~1"=="" goto add
if /i "%~1"=="undo" goto undo
echo usage: hosts-{{.Game}}.bat [undo]
exit /b 2

:add
if not exist "%HOSTS%" type nul >"%HOSTS%"
rem All lines but those of an earlier run.
findstr /v /l /c:"{{.Mark}}" "%HOSTS%" >"%KEPT%"
rem A last line without an end must not run into the first new one.
findstr /l /c:"{{.Mark}}" "%HOSTS%" >nul || echo.>>"%KEPT%"
(
echo {{.Mark}} begin: removed by hosts-{{.Game}}.bat undo
{{range .Names}}echo {{$.Address}} {{.}} {{$.Mark}}
{{end}}echo {{.Mark}} end
)>>"%KEPT%"
copy /y "%HOSTS%" "%HOSTS%.before-respawnd" >nul 2>nul
copy /y "%KEPT%" "%HOSTS%" >nul 2>nul || goto denied
echo Added {{len .Names}} names of {{.Game}}. To remove them: hosts-{{.Game}}.bat undo
goto done

:undo
findstr /v /l /c:"{{.Mark}}" "%HOSTS%" >"%KEPT%"
copy /y "%KEPT%" "%HOSTS%" >nul 2>nul || goto denied
echo Removed the names of {{.Game}}.

:done
del "%KEPT%"
ipconfig /flushdns >nul 2>nul
pause
exit /b 0

:denied
del "%KEPT%"
echo Cannot write %HOSTS%
echo Click this file with the right mouse button and choose "Run as administrator".
pause
exit /b 1
