//! `skctl trace generate`: a synthetic trace.

use trace::generate::{Generator, Settings};

use crate::arguments::Generate;
use crate::exit::{Code, Failure, Outcome};
use crate::files::Output;
use crate::progress::{self, Progress};
use crate::{interrupt, output};

pub(super) fn run(arguments: &Generate, mode: progress::Mode) -> Result<Outcome, Failure> {
    let generator = Generator::new(&settings(arguments)).map_err(|error| Failure::new(Code::Usage, error))?;
    let name = arguments.output.display();
    let unwritable = |error: trace::Error| {
        Failure::from(anyhow::Error::from(error)).context(format!("failed to write `{name}`"))
    };
    let mut file = Output::create(&arguments.output, &[])?;
    let mut progress = Progress::new(mode, "generating", None);
    let mut writer = trace::create(&mut file, arguments.to.into(), generator.header()).map_err(unwritable)?;
    let mut records = 0;
    for record in generator {
        interrupt::check()?;
        writer.write(&record).map_err(unwritable)?;
        records += 1;
        progress.at(0, records);
    }
    let written = writer.finish().map_err(unwritable)?;
    drop(progress);
    file.complete()?;
    for loss in written.losses.to_string().lines() {
        output::warning(loss);
    }
    output::done(&format!("wrote {} to {name}", output::count(records, "record")));
    Ok(Outcome::Done)
}

fn settings(arguments: &Generate) -> Settings {
    Settings {
        seed: arguments.seed,
        start: arguments.start,
        duration: arguments.duration,
        services: arguments.services,
        containers: arguments.containers,
        env: arguments.env,
        cronjobs: arguments.cronjobs,
        job_bursts: arguments.job_bursts,
        burst_jobs: arguments.burst_jobs,
        bare_pods: arguments.bare_pods,
        nodes: arguments.nodes,
        lives: !arguments.no_lives,
    }
}
