//! What a command is about: a running agent, or the files of one that rests.
//!
//! The state file lets no second process in, so commands ask the running agent
//! and open the file only when none runs.

use tidegate_model::{Error, ErrorKind, Result};
use tidegate_state::State;

use super::TargetArguments;
use super::client::Client;
use crate::config;
use crate::config::resolve::{AgentConfig, PipelineConfig};
use crate::control::{AgentStatus, running_agent};

/// A pipeline and the way to it.
pub(super) struct Target {
    /// From the pipeline file; `None` when only an address was given.
    files: Option<(AgentConfig, PipelineConfig)>,
    /// The running agent.
    client: Option<Client>,
    pipeline: Option<String>,
}

impl Target {
    /// Finds what the arguments name.
    ///
    /// # Errors
    /// `Config` when they name nothing, or the file is wrong.
    pub(super) fn find(arguments: &TargetArguments) -> Result<Self> {
        let files = match (&arguments.config, &arguments.url) {
            // An address in the arguments outweighs a file in the environment.
            (_, Some(_)) | (None, None) => None,
            (Some(file), None) => {
                let mut configuration = config::load_without_environment(std::slice::from_ref(file))?;
                Some((configuration.agent, configuration.pipelines.remove(0)))
            }
        };
        let client = match (&arguments.url, &files) {
            (Some(url), _) => Some(Client::new(url, token_from_environment())),
            (None, Some((agent, _))) => match running_agent(&agent.state)? {
                None => None,
                Some(running) => {
                    let url = running.url.ok_or_else(|| {
                        let message = format!("the agent with pid {} has no HTTP interface", running.pid);
                        Error::new(ErrorKind::Config, message).hint("set `agent.listen`, or stop it first")
                    })?;
                    Some(Client::new(&url, agent.token.clone()))
                }
            },
            (None, None) => {
                return Err(Error::new(ErrorKind::Config, "no pipeline is named").hint(
                    "give its file with -c FILE or TIDEGATE_CONFIG, or a running agent with --url URL",
                ));
            }
        };
        Ok(Self { files, client, pipeline: arguments.pipeline.clone() })
    }

    /// The running agent, if one runs.
    pub(super) fn client(&self) -> Option<&Client> {
        self.client.as_ref()
    }

    /// The running agent.
    ///
    /// # Errors
    /// `Connection` when none runs.
    pub(super) fn running(&self) -> Result<&Client> {
        self.client.as_ref().ok_or_else(|| {
            Error::new(ErrorKind::Connection, "no agent runs on this state folder")
                .hint("start it with `tidegate run FILE`")
        })
    }

    /// The pipeline file's contents.
    ///
    /// # Errors
    /// `Config` when only an address was given.
    pub(super) fn config(&self) -> Result<&PipelineConfig> {
        self.files.as_ref().map(|(_, pipeline)| pipeline).ok_or_else(|| {
            Error::new(ErrorKind::Config, "this command needs the pipeline's file")
                .hint("give it with -c FILE")
        })
    }

    /// The pipeline's name: from the arguments, the file, or the agent when it
    /// runs only one.
    ///
    /// # Errors
    /// `Config` when it is not clear.
    pub(super) fn pipeline(&self) -> Result<String> {
        if let Some(name) = &self.pipeline {
            return Ok(name.clone());
        }
        if let Some((_, pipeline)) = &self.files {
            return Ok(pipeline.name.clone());
        }
        let status: AgentStatus = self.running()?.get("/v1/status")?;
        match &status.pipelines[..] {
            [only] => Ok(only.pipeline.clone()),
            several => {
                let names: Vec<&str> = several.iter().map(|status| status.pipeline.as_str()).collect();
                Err(Error::new(ErrorKind::Config, format!("the agent runs {}", names.join(", ")))
                    .hint("say which with --pipeline NAME"))
            }
        }
    }

    /// Path of one of the pipeline's resources at the running agent.
    pub(super) fn resource(&self, name: &str) -> Result<String> {
        Ok(format!("/v1/pipelines/{}/{name}", self.pipeline()?))
    }

    /// The state of a pipeline whose agent rests.
    ///
    /// # Errors
    /// `Refused` when a process has it open, `Config` when there is none yet.
    pub(super) fn state(&self) -> Result<State> {
        let pipeline = self.config()?;
        let Some((agent, _)) = &self.files else {
            return Err(Error::new(ErrorKind::Internal, "a pipeline without an agent"));
        };
        let folder = agent.pipeline_folder(&pipeline.name);
        State::open_existing(&folder, &pipeline.name)?.ok_or_else(|| {
            Error::new(ErrorKind::Config, format!("pipeline '{}' has never run", pipeline.name))
                .with("folder", folder.display())
                .hint("check `agent.state` in the file, or start it with `tidegate run FILE`")
        })
    }
}

/// The token for an agent that was named by its address.
fn token_from_environment() -> Option<config::Secret> {
    std::env::var("TIDEGATE_TOKEN").ok().map(config::Secret::new)
}
