//! Exercise the plane by hand: `plane build|up|detach|down|status|exec [NAME] [CMD...]`. The verbs of skctl replace it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::error::Error;
use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

use simkube_plane::build::{self, BuildSettings};
use simkube_plane::{Ending, Home, Interrupt, NodeLifecycle, Settings, manage, prepare};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let verb = words.next().unwrap_or_default();
    let name = words.next().unwrap_or_else(|| "default".into());
    let rest: Vec<OsString> = words.map(OsString::from).collect();
    let home = Home::from_env()?;
    let build_settings = BuildSettings { cache: home.cache.clone(), ..BuildSettings::default() };
    match verb.as_str() {
        "build" => println!(
            "{}",
            build::build(&build_settings, &mut |progress| eprintln!("{progress:?}"))?.dir().display()
        ),
        "with" => {
            println!(
                "{}",
                build::build_other(&build_settings, &name.parse()?, &mut |progress| eprintln!(
                    "{progress:?}"
                ))?
                .display()
            );
        }
        "up" => up(&home, &build_settings, &name)?,
        "detach" => {
            let mut supervisor = Command::new(std::env::current_exe()?);
            supervisor.args(["up", &name]);
            let status = manage::detach(&home, &name, supervisor, Duration::from_secs(90))?;
            println!("{}", serde_json::to_string_pretty(&status)?);
        }
        "down" => manage::down(&home, &name)?,
        "status" => println!("{}", serde_json::to_string_pretty(&manage::status(&home, &name)?)?),
        "exec" => {
            let (program, args) = rest.split_first().ok_or("exec NAME CMD...")?;
            let status = manage::command(&home, &name, program, args)?.status()?;
            std::process::exit(status.code().unwrap_or(1));
        }
        _ => return Err("build|with|up|detach|down|status|exec [NAME] [CMD...]".into()),
    }
    Ok(())
}

fn up(home: &Home, build_settings: &BuildSettings, name: &str) -> Result<(), Box<dyn Error>> {
    let binaries = build::build(build_settings, &mut |progress| eprintln!("{progress:?}"))?;
    let interrupt = Interrupt::listen()?;
    let mut settings = Settings::default();
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    settings.gogc = number("PLANE_GOGC");
    settings.gomaxprocs = number("PLANE_GOMAXPROCS");
    if let Some(seconds) = number("PLANE_LEASES") {
        settings.nodes = NodeLifecycle::Leases { seconds };
    }
    let plane =
        prepare(home, name)?.start(&binaries, &settings, &interrupt, &mut |event| eprintln!("{event:?}"))?;
    eprintln!("ready after {:?} s", plane.state().ready_s);
    match plane.watch(&interrupt) {
        Ending::Interrupted => plane.stop(None, &interrupt)?,
        Ending::Died(death) => {
            plane.abandon();
            return Err(death.to_string().into());
        }
    }
    Ok(())
}
