set(WF_AGENT_SOURCES
  agent.c agent_device.c agent_fetch.c agent_gate.c agent_session.c agent_task.c agent_upload.c
  farm_client.c spool.c trust.c)
